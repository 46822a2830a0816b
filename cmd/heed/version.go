package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker of a release build.
var release string

// version returns the release, else the module's version, else "devel".
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func versionCommand(e env) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version", Args: noArgs}
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(*cobra.Command, []string) error {
		v := struct {
			Version string `json:"version"`
			Go      string `json:"go"`
			OS      string `json:"os"`
			Arch    string `json:"arch"`
		}{version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
		if *asJSON {
			return printJSON(e.stdout, v)
		}
		_, err := fmt.Fprintf(e.stdout, "heed %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
		return err
	}
	return c
}
