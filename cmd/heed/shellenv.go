package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heed/internal/ca"
)

func envCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that lead a shell's programs through a running heed",
		Long: `Print the variables that 'heed run' sets, for a heed that is running already. The
trust files are written beside the CA.`,
		Example: `  eval "$(heed env)"
  heed env --shell fish | source
  heed env --shell powershell | Out-String | Invoke-Expression`,
		Args: noArgs,
	}
	load := settings(c, e, "listen")
	shell := c.Flags().String("shell", "sh", "syntax: sh, fish or powershell")
	c.RunE = func(*cobra.Command, []string) error {
		write, ok := shells[*shell]
		if !ok {
			return usage("one of sh, fish, powershell", "unknown shell %q", *shell)
		}
		loaded, err := load()
		if err != nil {
			return err
		}
		addr := dialable(loaded.Config.Listen)
		warnUnlessListening(e.stderr, addr)
		var files trustFiles
		if loaded.Config.HTTPS.Mode == "intercept" {
			a, err := ca.Open(caDir(loaded.Config, e))
			if err != nil {
				return err
			}
			var warning error
			if files, warning, err = writeTrust(a.Dir(), a, e.getenv); err != nil {
				return err
			}
			if warning != nil {
				fmt.Fprintf(e.stderr, "warning: %v; programs will trust heed's CA alone\n", warning)
			}
		}
		return printEnv(e.stdout, write, clientEnv(addr, files, e.getenv("JAVA_TOOL_OPTIONS")))
	}
	return c
}

// shells write the setting of a variable.
var shells = map[string]func(variable) string{
	"sh": func(v variable) string { return "export " + v.name + "=" + quote(v.value, `'\''`) },
	"fish": func(v variable) string {
		return "set -gx " + v.name + " " + quote(strings.ReplaceAll(v.value, `\`, `\\`), `\'`)
	},
	"powershell": func(v variable) string {
		return "Set-Item -Path Env:" + v.name + " -Value " + quote(v.value, `''`)
	},
}

// quote puts s between single quotes; quoted stands for one inside.
func quote(s, quoted string) string { return "'" + strings.ReplaceAll(s, "'", quoted) + "'" }

func printEnv(w io.Writer, write func(variable) string, vars []variable) error {
	var b strings.Builder
	for _, v := range vars {
		b.WriteString(write(v) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// warnUnlessListening says so when nobody is there yet: the variables are right
// all the same, once heed is.
func warnUnlessListening(w io.Writer, addr string) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		fmt.Fprintf(w, "warning: no heed listens on %s yet\n", addr)
		return
	}
	_ = conn.Close()
}
