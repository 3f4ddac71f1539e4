package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	containerd "github.com/containerd/containerd/v2/pkg/archive"
	moby "github.com/moby/go-archive"
	"github.com/moby/sys/user"
	umoci "github.com/opencontainers/umoci/oci/layer"
)

// pack writes a tar with a project's own writer: all of a directory, or what makes it of an older one.
func pack(writer, older, directory string, out io.Writer) error {
	switch writer {
	case "containerd":
		// BuildKit writes its layers with this function.
		return containerd.WriteDiff(context.Background(), out, older, directory)
	case "moby":
		changes, err := moby.ChangesDirs(directory, older)
		if err != nil {
			return err
		}
		return copied(out)(moby.ExportChanges(directory, changes, user.IdentityMapping{}))
	case "moby-tar":
		return copied(out)(moby.TarWithOptions(directory, &moby.TarOptions{}))
	case "umoci":
		return copied(out)(umoci.GenerateInsertLayer(directory, "/", false, nil), nil)
	case "go-ustar":
		return walked(directory, tar.FormatUSTAR, out)
	case "go-pax":
		return walked(directory, tar.FormatPAX, out)
	case "go-gnu":
		return walked(directory, tar.FormatGNU, out)
	}
	return fmt.Errorf("no such writer: %q", writer)
}

// copied copies what a function gives to out.
func copied(out io.Writer) func(io.ReadCloser, error) error {
	return func(layer io.ReadCloser, err error) error {
		if err != nil {
			return err
		}
		_, err = io.Copy(out, layer)
		return errors.Join(err, layer.Close())
	}
}

// walked writes a directory with Go's own library, without the files that a format cannot hold.
func walked(directory string, format tar.Format, out io.Writer) error {
	archive := tar.NewWriter(out)
	err := filepath.Walk(directory, func(path string, info os.FileInfo, err error) error {
		if err != nil || path == directory {
			return err
		}
		target := ""
		if info.Mode()&os.ModeSymlink != 0 {
			if target, err = os.Readlink(path); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return nil
		}
		if header.Name, err = filepath.Rel(directory, path); err != nil {
			return err
		}
		header.Format = format
		if format != tar.FormatPAX {
			// The older formats know one time, in seconds.
			header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
			header.ModTime = header.ModTime.Truncate(time.Second)
		}
		if archive.WriteHeader(header) != nil || !info.Mode().IsRegular() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(archive, file)
		return err
	})
	return errors.Join(err, archive.Close())
}
