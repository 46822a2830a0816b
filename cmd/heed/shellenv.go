package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"heed/internal/ca"
	"heed/internal/config"
)

func envCommand(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that lead a shell's programs through a running heed",
		Long: `Print the variables that 'heed run' sets, for a heed that is running already. The
files that they name are written below $XDG_DATA_HOME/heed.`,
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
		if loaded.Config.TLS.Cert != "" {
			fmt.Fprintln(e.stderr, "warning: with tls set the proxy's URL begins with https://, and few programs can use one; these variables are for a port without it")
		}
		files, err := envTrust(loaded.Config, e, addr)
		if err != nil {
			return err
		}
		more, err := writeSettings(files, "http://"+addr, e.getenv)
		if err != nil {
			return err
		}
		return printEnv(e.stdout, write, append(clientEnv(addr, files, e.getenv), more...))
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

// envTrust writes the trust files for the heed at addr. The CA is the one that it
// shows, which may not be this user's; where nobody listens yet, it is the one of
// the configuration.
func envTrust(c config.Config, e env, addr string) (trustFiles, error) {
	dir := filepath.Join(ca.DefaultDir(e.getenv), "env-"+strings.NewReplacer(":", "-", "[", "", "]", "").Replace(addr))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return trustFiles{}, usage("HOME or XDG_DATA_HOME names the folder for the trust files", "%w", err)
	}
	own, err := shownCA(addr)
	if err != nil {
		fmt.Fprintf(e.stderr, "warning: no heed answers on %s yet\n", addr)
		if c.HTTPS.Mode != "intercept" {
			return trustFiles{dir: dir}, nil
		}
		a, err := ca.Load(caDir(c, e))
		if err != nil {
			return trustFiles{}, usage("start heed first, or make its CA with 'heed ca init'", "%w", err)
		}
		own = a.PEM()
	}
	if own == nil {
		return trustFiles{dir: dir}, nil
	}
	files, warning, err := writeTrust(dir, own, e.getenv)
	if warning != nil {
		fmt.Fprintf(e.stderr, "warning: %v; programs will trust heed's CA alone\n", warning)
	}
	return files, err
}

// shownCA asks the heed at addr for its CA certificate; nil when it intercepts
// nothing.
func shownCA(addr string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/ca.pem", nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	block, _ := pem.Decode(body)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusNotFound:
		return nil, nil
	case res.StatusCode != http.StatusOK || block == nil || block.Type != "CERTIFICATE":
		return nil, fmt.Errorf("%s answers %s, as no heed does", addr, printable(res.Status))
	}
	return pem.EncodeToMemory(block), nil
}
