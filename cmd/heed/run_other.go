//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// forwarded is empty: a console's interrupt reaches every process of it.
var forwarded = []os.Signal{os.Interrupt}

// supervise runs cmd and returns its exit code. The error is that of a command
// that could not be started. Signals are received, so that they do not end
// heed, and dropped: the command has had them from the console.
func supervise(cmd *exec.Cmd, signals <-chan os.Signal) (int, error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case <-signals:
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	<-passed
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
