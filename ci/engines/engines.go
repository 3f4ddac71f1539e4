package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	containerd "github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	moby "github.com/moby/go-archive"
	umoci "github.com/opencontainers/umoci/oci/layer"
)

// apply puts a decompressed layer into a directory. parents are the directories of the layers
// below, the nearest first.
type apply func(directory string, layer io.Reader, parents []string) error

// engine is an applier: either in place, or a directory a layer, which overlayfs then merges.
type engine struct {
	name    string
	naive   apply
	overlay apply
}

var engines = []engine{
	{name: "containerd-naive", naive: func(directory string, layer io.Reader, _ []string) error {
		_, err := containerd.Apply(context.Background(), directory, layer)
		return err
	}},
	{name: "containerd-overlay", overlay: func(directory string, layer io.Reader, parents []string) error {
		_, err := containerd.Apply(context.Background(), directory, layer,
			containerd.WithConvertWhiteout(containerd.OverlayConvertWhiteout),
			containerd.WithParents(parents))
		return err
	}},
	{name: "moby-naive", naive: func(directory string, layer io.Reader, _ []string) error {
		_, err := moby.UnpackLayer(directory, layer, &moby.TarOptions{})
		return err
	}},
	{name: "moby-overlay", overlay: func(directory string, layer io.Reader, _ []string) error {
		return moby.Unpack(layer, directory, &moby.TarOptions{WhiteoutFormat: moby.OverlayWhiteoutFormat})
	}},
	{name: "umoci", naive: func(directory string, layer io.Reader, _ []string) error {
		return umoci.UnpackLayer(directory, layer, nil)
	}},
}

// chosen gives the engines of these names, or all.
func chosen(names []string) []engine {
	if len(names) == 0 {
		return engines
	}
	var found []engine
	for _, engine := range engines {
		if slices.Contains(names, engine.name) {
			found = append(found, engine)
		}
	}
	if len(found) != len(names) {
		fail(fmt.Errorf("no such engine among %q", names))
	}
	return found
}

// diffIDs gives the digest of what each blob holds. One that cannot be decompressed gets that of what
// came before the error.
func diffIDs(layers []string) []string {
	ids := []string{}
	for _, path := range layers {
		digest := sha256.New()
		_ = applied(path, "", nil, func(_ string, layer io.Reader, _ []string) error {
			_, err := io.Copy(digest, layer)
			return err
		})
		ids = append(ids, "sha256:"+hex.EncodeToString(digest.Sum(nil)))
	}
	return ids
}

// applied decompresses a layer, applies it and reads it to its end, as whoever takes its digest does.
func applied(path, directory string, parents []string, apply apply) error {
	file, err := os.Open(path)
	if err != nil {
		fail(err)
	}
	defer file.Close()
	layer, err := compression.DecompressStream(file)
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	defer layer.Close()
	if err := apply(directory, layer, parents); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, layer); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}
