// Command registries serves a registry of another project: on an address, with its files below a
// directory, until it is killed.
//
//	registries distribution ADDRESS DIRECTORY
//	registries go-containerregistry ADDRESS DIRECTORY
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/distribution/distribution/v3/configuration"
	distribution "github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	container "github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: registries PROJECT ADDRESS DIRECTORY")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(project, address, directory string) error {
	switch project {
	case "distribution":
		return serveDistribution(address, directory)
	case "go-containerregistry":
		blobs := container.WithBlobHandler(container.NewDiskBlobHandler(directory))
		quiet := container.Logger(log.New(io.Discard, "", 0))
		return http.ListenAndServe(address, container.New(blobs, quiet))
	}
	return fmt.Errorf("unknown project %q", project)
}

func serveDistribution(address, directory string) error {
	text := fmt.Sprintf("version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: %q\nhttp:\n  addr: %q\n", directory, address)
	config, err := configuration.Parse(strings.NewReader(text))
	if err != nil {
		return err
	}
	registry, err := distribution.NewRegistry(context.Background(), config)
	if err != nil {
		return err
	}
	return registry.ListenAndServe()
}
