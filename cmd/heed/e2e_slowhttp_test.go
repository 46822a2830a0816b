package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"heed/internal/testtool"
)

var closedLine = regexp.MustCompile(`(?m)^(closed|connected|service available|error):\s+(\S+)`)

// slowhttptest's four modes: headers, bodies and ranges that come slowly, and answers
// that are read slowly.
func TestSlowClients(t *testing.T) {
	tool := testtool.Path(t, "slowhttptest")
	b := besiege(t)
	connections, seconds := 100, 2
	if full() {
		connections, seconds = 200, 20
	}
	for _, mode := range []struct{ name, flag, path string }{
		{"slow headers", "-H", "/page"}, {"slow bodies", "-B", "/page"}, {"ranges", "-R", "/big"}, {"slow reading", "-X", "/big"},
	} {
		b.endure(mode.name, func(stop <-chan struct{}) string {
			cmd := exec.Command(tool, mode.flag, "-u", b.plain.URL+mode.path, "-d", b.addr, "-c", strconv.Itoa(connections),
				"-r", strconv.Itoa(connections), "-l", strconv.Itoa(seconds), "-i", "1", "-n", "1", "-p", "5")
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return ""
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			select {
			case <-ended:
			case <-stop:
				_ = cmd.Process.Kill()
				<-ended
			}
			var said []string
			for _, m := range closedLine.FindAllStringSubmatch(out.String(), -1) {
				said = append(said, m[1]+" "+m[2])
			}
			return strings.Join(said[max(0, len(said)-4):], ", ")
		})
	}
}
