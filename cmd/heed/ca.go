package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"heed/internal/ca"
)

func caCommand(e env) *cobra.Command {
	c := &cobra.Command{Use: "ca", Short: "The interception CA: make it, show it, export it"}
	c.AddCommand(caInit(e), caShow(e), caExport(e), caBundle(e))
	return c
}

func caInit(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "init",
		Short: "Make the CA; heed serve does it by itself on first use",
		Args:  noArgs,
	}
	load := settings(c, e)
	force := c.Flags().Bool("force", false, "replace a CA that is there; its files are kept under other names")
	c.RunE = func(*cobra.Command, []string) error {
		loaded, err := load()
		if err != nil {
			return err
		}
		a, err := ca.Init(caDir(loaded.Config, e), *force)
		if err != nil {
			return usage(caDirHint, "%w", err)
		}
		_, err = fmt.Fprintf(e.stdout, "%s\nSHA-256 fingerprint %s\n", a.Path(), a.Fingerprint())
		return err
	}
	return c
}

func caShow(e env) *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Print where the CA is, its fingerprint and what browsers need", Args: noArgs}
	load := settings(c, e)
	asJSON := c.Flags().Bool("json", false, "print one JSON object")
	c.RunE = func(*cobra.Command, []string) error {
		a, err := existingCA(load, e)
		if err != nil {
			return err
		}
		cert := a.Certificate()
		v := struct {
			Path        string    `json:"path"`
			Subject     string    `json:"subject"`
			Fingerprint string    `json:"sha256_fingerprint"`
			SPKI        string    `json:"spki_sha256"`
			NotBefore   time.Time `json:"not_before"`
			NotAfter    time.Time `json:"not_after"`
		}{a.Path(), cert.Subject.String(), a.Fingerprint(), a.SPKIHash(), cert.NotBefore.UTC(), cert.NotAfter.UTC()}
		if *asJSON {
			return printJSON(e.stdout, v)
		}
		_, err = fmt.Fprintf(e.stdout, "file         %s\nsubject      %s\nfingerprint  %s (SHA-256)\nSPKI hash    %s (for --ignore-certificate-errors-spki-list)\nvalid        %s to %s\n",
			v.Path, v.Subject, v.Fingerprint, v.SPKI, v.NotBefore.Format(time.DateOnly), v.NotAfter.Format(time.DateOnly))
		return err
	}
	return c
}

func caExport(e env) *cobra.Command {
	c := &cobra.Command{Use: "export", Short: "Print the CA certificate in PEM", Args: noArgs}
	load := settings(c, e)
	c.RunE = func(*cobra.Command, []string) error {
		a, err := existingCA(load, e)
		if err != nil {
			return err
		}
		_, err = e.stdout.Write(a.PEM())
		return err
	}
	return c
}

func caBundle(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "bundle",
		Short: "Print the system's roots and the CA in PEM, for programs whose trust store is replaced",
		Args:  noArgs,
	}
	load := settings(c, e)
	c.RunE = func(*cobra.Command, []string) error {
		a, err := existingCA(load, e)
		if err != nil {
			return err
		}
		pem, err := a.Bundle(e.getenv)
		if err != nil {
			return err
		}
		_, err = e.stdout.Write(pem)
		return err
	}
	return c
}

// existingCA loads the CA and makes none.
func existingCA(load loader, e env) (*ca.Authority, error) {
	loaded, err := load()
	if err != nil {
		return nil, err
	}
	a, err := ca.Load(caDir(loaded.Config, e))
	if err != nil {
		return nil, usage(caDirHint, "%w", err)
	}
	return a, nil
}

// caDirHint is for errors of the CA that have no hint of their own.
const caDirHint = "https.ca_dir (HEED_HTTPS_CA_DIR) names another folder for the CA"
