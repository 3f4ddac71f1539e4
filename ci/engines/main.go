// Command engines applies the layers of each case with the appliers of containerd, moby and umoci,
// and prints what each makes of it, one JSON object a line. It needs root.
//
//	engines SCRATCH [ENGINE...] < cases > verdicts
//
// A line of input is a JSON object: "case" and "layers", the paths of blobs or tars, base first.
//
//	engines pack WRITER OLDER DIRECTORY > layer
//
// writes the layer that makes a directory of an older one, as a project writes it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/log"
)

type testCase struct {
	Case   string   `json:"case"`
	Layers []string `json:"layers"`
}

type verdict struct {
	Case   string `json:"case"`
	Engine string `json:"engine"`
	// Why the engine refuses the layers, or empty.
	Error string `json:"error,omitempty"`
	// The tree, a line a name.
	Tree string `json:"tree,omitempty"`
}

type digests struct {
	Case string `json:"case"`
	// Of the layers as they are decompressed, as far as that goes.
	DiffIDs []string `json:"diff_ids"`
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: engines SCRATCH [ENGINE...] < cases > verdicts"))
	}
	// What is odd about a case is no news here.
	if err := log.SetLevel("error"); err != nil {
		fail(err)
	}
	if os.Args[1] == "pack" && len(os.Args) == 5 {
		if err := pack(os.Args[2], os.Args[3], os.Args[4], os.Stdout); err != nil {
			fail(err)
		}
		return
	}
	if err := run(os.Args[1], chosen(os.Args[2:])); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "engines:", err)
	os.Exit(1)
}

func run(scratch string, engines []engine) error {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	for decoder.More() {
		var one testCase
		if err := decoder.Decode(&one); err != nil {
			return err
		}
		if err := encoder.Encode(digests{Case: one.Case, DiffIDs: diffIDs(one.Layers)}); err != nil {
			return err
		}
		for _, engine := range engines {
			tree, err := judge(engine, one, filepath.Join(scratch, "root"))
			answer := verdict{Case: one.Case, Engine: engine.name, Tree: tree}
			if err != nil {
				answer.Error = err.Error()
			}
			if err := encoder.Encode(answer); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// judge gives the tree that an engine makes in a fresh directory, or why it does not.
func judge(engine engine, one testCase, root string) (tree string, err error) {
	if err := os.RemoveAll(root); err != nil {
		fail(err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		fail(err)
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			tree, err = "", fmt.Errorf("panic: %v", panicked)
		}
	}()
	if engine.overlay != nil {
		return overlaid(engine, one.Layers, root)
	}
	for _, layer := range one.Layers {
		if err := applied(layer, root, nil, engine.naive); err != nil {
			return "", err
		}
	}
	return dump(root)
}
