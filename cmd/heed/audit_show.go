package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"heed/internal/audit"
	"heed/internal/audit/bodies"
)

func auditShow(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show ID [FILE...]",
		Short: "Show a decision beside the robots.txt that it was made on",
		Long: `Show all that is recorded under an id, and the robots.txt that was asked, if it
is kept (audit.bodies, or --bodies), with the line marked that decided.

Exit 3 when there is no such record, or its robots.txt is not kept.`,
		Example: `  heed audit show --bodies /var/lib/heed/bodies 3f2a91c4-9 audit.jsonl`,
		Args:    cobra.MinimumNArgs(1),
	}
	s := &showRun{auditRun: newAuditRun(c, e)}
	s.asideFlag(c)
	c.Flags().StringVar(&s.dir, "bodies", "", "`FOLDER` of robots.txt files (default: audit.bodies)")
	c.Flags().IntVar(&s.context, "context", 5, "lines of robots.txt around the one that decided; 0 is all of the file")
	c.RunE = func(_ *cobra.Command, args []string) error {
		names, err := s.begin(args[1:])
		if err != nil {
			return err
		}
		s.dir = cmp.Or(s.dir, s.config.Audit.Bodies)
		return s.run(args[0], names)
	}
	return c
}

type showRun struct {
	*auditRun
	dir     string
	context int
}

func (s *showRun) run(id string, names []string) error {
	var found []*audit.Entry
	_, err := s.entries(names, func(e *audit.Entry) error {
		if string(e.ID) == id {
			kept := &audit.Entry{}
			if err := kept.Parse(bytes.Clone(e.Line)); err != nil {
				return err
			}
			found = append(found, kept)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &failure{exitUnknown, fmt.Errorf("no record has the id %.80q", id), "--all reads the files that were put aside, too"}
	}
	for _, e := range found {
		if s.json {
			if _, err := fmt.Fprintf(s.stdout, "%s\n", e.Line); err != nil {
				return err
			}
			continue
		}
		if err := s.record(e); err != nil {
			return err
		}
	}
	return s.file(found[0])
}

// record prints what is recorded. What is absent is left out.
func (s *showRun) record(e *audit.Entry) error {
	f := e.File()
	out := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"id", string(e.ID)}, {"time", string(e.Time)}, {"event", string(e.Event)}, {"client", string(e.Client)}, {"user", string(e.User)},
		{"request", string(e.Method) + " " + string(e.URL)}, {"query", string(e.Query)},
		{"verdict", verdictText(e)}, {"because", entryBecause(e)},
		{"agent", string(e.Agent)}, {"profile", string(e.Profile)}, {"override", string(e.Override)},
		{"robots", string(f.URL)}, {"final url", string(f.FinalURL)}, {"status", number(f.Status)},
		{"retrieved", string(f.Retrieved)}, {"sha256", string(f.SHA256)}, {"answered", number(e.Status)},
	} {
		if text := strings.TrimSpace(line[1]); text != "" && text != "-" {
			fmt.Fprintf(out, "%s\t%s\n", line[0], printable(text))
		}
	}
	fmt.Fprintln(out)
	return out.Flush()
}

func verdictText(e *audit.Entry) string {
	text := string(e.Verdict)
	if !e.Enforced && text == "disallow" {
		text += ", only noted (monitor mode)"
	}
	return text
}

// file prints the robots.txt that e was decided on.
func (s *showRun) file(e *audit.Entry) error {
	sum := string(e.File().SHA256)
	if sum == "" || s.json {
		return nil
	}
	if s.dir == "" {
		return &failure{exitUnknown, errors.New("the robots.txt is not at hand"), "name the folder with --bodies; heed keeps them where audit.bodies says"}
	}
	body, err := bodies.Read(s.dir, sum)
	if err != nil {
		return &failure{exitUnknown, fmt.Errorf("robots.txt %s: %w", sum, err), ""}
	}
	seen, err := bodies.Seen(s.dir, sum)
	if err != nil {
		return unreadable(err)
	}
	var out bytes.Buffer
	for i, who := range seen {
		if i == 3 {
			fmt.Fprintf(&out, "and by %d more origins\n", len(seen)-i)
			break
		}
		fmt.Fprintf(&out, "served by %s from %s to %s\n", printable(who.Origin), who.First.Format("2006-01-02 15:04:05"), who.Last.Format("2006-01-02 15:04:05"))
	}
	s.marked(&out, body, e.RuleLine)
	_, err = s.stdout.Write(out.Bytes())
	return err
}

// marked prints a robots.txt with a line marked. Lines end as RFC 9309 2.2 has
// it: CR, LF or both.
func (s *showRun) marked(out *bytes.Buffer, body []byte, line int) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(body), "\ufeff"), "\r\n", "\n")
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r", "\n"), "\n"), "\n")
	from, to := 0, len(lines)
	if s.context > 0 && line > 0 {
		from, to = max(0, line-1-s.context), min(len(lines), line+s.context)
	}
	out.WriteByte('\n')
	for i := from; i < to; i++ {
		mark := " "
		if i+1 == line {
			mark = ">"
		}
		fmt.Fprintf(out, "%s %5d  %s\n", mark, i+1, printable(lines[i]))
	}
}
