package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"heed/internal/audit"
)

// maxFaults is how many faults are told of one by one.
const maxFaults = 100

func auditVerify(e env) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify [FILE...]",
		Short: "Check the chain: is anything changed, missing, reordered or cut?",
		Long: `Check that the lines of the files are those that heed wrote, all of them and in
its order, and say which are not. The files may be given in any order; a gap
between them is a fault. The newest hash is compared with the head beside each
FILE (FILE.head), or with --head. Without a key, a log that somebody wrote anew
as a whole shows only against a head that was kept elsewhere.

Exit 0 when nothing is found, 1 when something is, 3 when a file cannot be read.`,
		Example: `  heed audit verify --all audit.jsonl
  heed audit verify --key-file audit.key --head /mnt/elsewhere/audit.head audit.jsonl`,
		Args: cobra.ArbitraryArgs,
	}
	v := &verifyRun{auditRun: newAuditRun(c, e)}
	v.asideFlag(c)
	c.Flags().StringVar(&v.keyFile, "key-file", "", "`FILE` of the key (default: audit.key_file)")
	c.Flags().StringVar(&v.head, "head", "", "compare with this head `FILE`, such as a copy that was kept elsewhere")
	c.Flags().BoolVar(&v.complete, "complete", false, "a log that does not begin with the first record of its chain is a fault")
	c.RunE = func(_ *cobra.Command, names []string) error {
		names, err := v.begin(names)
		if err != nil {
			return err
		}
		return v.run(names)
	}
	return c
}

type verifyRun struct {
	*auditRun
	keyFile, head string
	complete      bool
	heads         []string
	shown         int
}

func (v *verifyRun) run(names []string) error {
	key, err := auditKey(cmp.Or(v.keyFile, v.config.Audit.KeyFile))
	if err != nil {
		return err
	}
	var wrong error
	check := audit.NewVerifier(key, func(f audit.Fault) {
		if err := v.fault(f); err != nil {
			wrong = err
		}
	})
	check.Complete = v.complete
	// The heads first: a log that is being written meanwhile is never behind them.
	if err := v.readHeads(check, names); err != nil {
		return err
	}
	err = v.lines(inOrder(names), check.File, func(line []byte, ended bool) error {
		check.Line(line, ended)
		return wrong
	})
	if err != nil {
		return err
	}
	check.End()
	if err := cmp.Or(wrong, v.result(check, key != nil)); err != nil {
		return err
	}
	if check.Faults > 0 {
		return &failure{code: exitDisallow}
	}
	return nil
}

// inOrder sorts files by the place that their first lines have. What has none
// keeps its place behind them.
func inOrder(names []string) []string {
	type file struct {
		name string
		at   audit.Link
		ok   bool
	}
	var files []file
	chains := map[string]int{} // in the order in which they are met
	for _, name := range names {
		f := file{name: name}
		if name != "-" {
			f.at, f.ok = audit.FirstLink(name)
		}
		if _, met := chains[f.at.Chain]; f.ok && !met {
			chains[f.at.Chain] = len(chains)
		}
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(a, b file) int {
		if !a.ok || !b.ok {
			return cmp.Compare(boolInt(!a.ok), boolInt(!b.ok))
		}
		return cmp.Or(cmp.Compare(chains[a.at.Chain], chains[b.at.Chain]), cmp.Compare(a.at.Seq, b.at.Seq))
	})
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.name
	}
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v *verifyRun) readHeads(check *audit.Verifier, names []string) error {
	if v.head != "" {
		at, err := audit.ReadHead(v.head)
		if err != nil {
			return unreadable(err)
		}
		v.heads = append(v.heads, v.head)
		check.Head(v.head, at)
		return nil
	}
	for _, name := range names {
		if name == "-" {
			continue
		}
		head := audit.HeadPath(name)
		at, err := audit.ReadHead(head)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unreadable(err)
		}
		v.heads = append(v.heads, head)
		check.Head(head, at)
	}
	return nil
}

func (v *verifyRun) fault(f audit.Fault) error {
	v.progress.clear()
	if v.json {
		return printJSON(v.stdout, f)
	}
	v.shown++
	if v.shown > maxFaults {
		return nil
	}
	where := printable(f.File)
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	seq := ""
	if f.Seq > 0 {
		seq = fmt.Sprintf(" seq %d:", f.Seq)
	}
	_, err := fmt.Fprintf(v.stdout, "%s:%s %s: %s\n", where, seq, f.Kind, printable(f.Text))
	return err
}

// verified is the result as JSON.
type verified struct {
	Records uint64   `json:"records"`
	Faults  uint64   `json:"faults"`
	Torn    uint64   `json:"torn"`
	Lost    uint64   `json:"lost"`
	Keyed   bool     `json:"keyed"`
	Heads   []string `json:"heads"`
	First   *place   `json:"first,omitempty"`
	Last    *place   `json:"last,omitempty"`
}

type place struct {
	Chain string `json:"chain"`
	Seq   uint64 `json:"seq"`
	Hash  string `json:"hash"`
}

func placeOf(l audit.Link) *place {
	if l.Seq == 0 {
		return nil
	}
	return &place{l.Chain, l.Seq, l.Hash.String()}
}

func (v *verifyRun) result(c *audit.Verifier, keyed bool) error {
	r := verified{c.Records, c.Faults, c.Torn, c.Lost, keyed, v.heads, placeOf(c.First), placeOf(c.Last)}
	if v.json {
		return printJSON(v.stdout, r)
	}
	if more := v.shown - maxFaults; more > 0 {
		fmt.Fprintf(v.stdout, "and %d more; --json tells them all\n", more)
	}
	for _, p := range []struct {
		name string
		at   *place
	}{{"first", r.First}, {"last", r.Last}} {
		if p.at != nil {
			fmt.Fprintf(v.stdout, "%-6s seq %d of chain %s\n       %s\n", p.name, p.at.Seq, p.at.Chain, p.at.Hash)
		}
	}
	head := "none beside the log: a cut tail would not show"
	if len(v.heads) > 0 {
		head = printable(v.heads[len(v.heads)-1])
	}
	fmt.Fprintf(v.stdout, "%-6s %s\n", "head", head)
	if c.Torn > 0 {
		fmt.Fprintf(v.stdout, "%-6s %d lines were not written to their end, and the log says so\n", "torn", c.Torn)
	}
	if c.Lost > 0 {
		fmt.Fprintf(v.stdout, "%-6s %d records were lost while the log could not be written, as it says\n", "lost", c.Lost)
	}
	word := "ok"
	if c.Faults > 0 {
		word = "FAULTY"
	}
	kind := "none: whoever can write the log can make a chain"
	if keyed {
		kind = "the hashes were made with it"
		if c.Faults > 0 {
			kind = "given"
		}
	}
	fmt.Fprintf(v.stdout, "%-6s %s\n", "key", kind)
	_, err := fmt.Fprintf(v.stdout, "%-6s %s, %s\n", word, several(c.Records, "record"), several(c.Faults, "fault"))
	return err
}

// several is n of what a noun names.
func several(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
