// Command reference prints what github.com/distribution/reference makes of image names.
//
// Each line of standard input is a name as a JSON string; each line of standard output is the
// verdict on it, in the same order.
package main

import (
	"bufio"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/json"
	"fmt"
	"os"

	"github.com/distribution/reference"
)

// verdict is empty but for Refused where the name is refused.
type verdict struct {
	Refused  string `json:"refused"`
	Domain   string `json:"domain"`
	Path     string `json:"path"`
	Tag      string `json:"tag"`
	Digest   string `json:"digest"`
	Full     string `json:"full"`
	Familiar string `json:"familiar"`
	// Canonical is the name that docker and containerd know the image by.
	Canonical string `json:"canonical"`
}

func judge(name string) verdict {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return verdict{Refused: err.Error()}
	}
	canonical, err := reference.ParseDockerRef(name)
	if err != nil {
		return verdict{Refused: err.Error()}
	}
	named = reference.TagNameOnly(named)
	found := verdict{
		Domain:    reference.Domain(named),
		Path:      reference.Path(named),
		Full:      named.String(),
		Familiar:  reference.FamiliarString(named),
		Canonical: canonical.String(),
	}
	if tagged, ok := named.(reference.Tagged); ok {
		found.Tag = tagged.Tag()
	}
	if digested, ok := named.(reference.Digested); ok {
		found.Digest = digested.Digest().String()
	}
	return found
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var name string
		if err := json.Unmarshal(lines.Bytes(), &name); err != nil {
			fmt.Fprintln(os.Stderr, "reference:", err)
			os.Exit(1)
		}
		line, err := json.Marshal(judge(name))
		if err != nil {
			fmt.Fprintln(os.Stderr, "reference:", err)
			os.Exit(1)
		}
		fmt.Println(string(line))
	}
}
