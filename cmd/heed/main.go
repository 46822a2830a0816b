// Command heed is a forward proxy that makes crawlers obey robots.txt.
//
// This package wires: it reads the command line, the environment and signals,
// joins configuration to the objects of the other packages, and turns results
// into text and exit codes. It decides, fetches and carries nothing itself.
package main

import (
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], system())) }

// env is what a command may touch of the world outside.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
}

func system() env { return env{os.Stdin, os.Stdout, os.Stderr, os.Environ()} }

// getenv returns a variable of the environment, "" when it is not set.
func (e env) getenv(name string) string {
	value := ""
	for _, pair := range e.environ {
		if len(pair) > len(name) && pair[len(name)] == '=' && pair[:len(name)] == name {
			value = pair[len(name)+1:] // the last one counts
		}
	}
	return value
}
