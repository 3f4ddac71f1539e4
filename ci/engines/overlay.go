package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// overlaid applies each layer to a directory of its own and dumps what overlayfs makes of them.
func overlaid(engine engine, layers []string, root string) (string, error) {
	var below []string
	for index, layer := range layers {
		directory := filepath.Join(root, fmt.Sprint(index))
		if err := os.Mkdir(directory, 0o755); err != nil {
			fail(err)
		}
		if err := applied(layer, directory, below, engine.overlay); err != nil {
			return "", err
		}
		below = slices.Insert(below, 0, directory)
	}
	return merged(root, below)
}

// merged mounts directories, the top first, and dumps the mount.
func merged(root string, directories []string) (string, error) {
	target, bottom := filepath.Join(root, "merged"), filepath.Join(root, "bottom")
	for _, directory := range []string{target, bottom} {
		if err := os.Mkdir(directory, 0o755); err != nil {
			fail(err)
		}
	}
	// One lower directory alone is no overlay: an empty one goes below.
	options := "redirect_dir=follow,lowerdir=" + strings.Join(append(directories, bottom), ":")
	if err := unix.Mount("overlay", target, "overlay", unix.MS_RDONLY, options); err != nil {
		return "", fmt.Errorf("mount: %w", err)
	}
	defer func() {
		if err := unix.Unmount(target, 0); err != nil {
			fail(err)
		}
	}()
	return dump(target)
}
