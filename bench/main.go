// Command bench compares heed with other proxies on the same work, on loopback.
//
//	go run . [-only WORK,PEER…] [-rounds N] [-seconds S] [-json FILE] [-profile DIR]
//
// Tables go to standard output as Markdown, progress to standard error. It is for
// Linux: what a request costs is read from /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	o := options{progress: os.Stderr, connections: 1000, pause: 11 * time.Second}
	only := flag.String("only", "", "names of works and peers, with commas; without a work all works, without a peer all peers")
	flag.IntVar(&o.rounds, "rounds", 12, "how often each peer does each work, in turns")
	seconds := flag.Float64("seconds", 3, "how long each does it, after a warm-up of a third")
	file := flag.String("json", "", "write everything measured to this file, too")
	flag.StringVar(&o.profile, "profile", "", "put profiles of heed, CPU and allocations, one a work, into this folder; its figures suffer")
	flag.Parse()
	o.span = time.Duration(*seconds * float64(time.Second))
	if flag.NArg() > 0 || o.rounds < 1 || o.span <= 0 {
		return errors.New("what is left over, or nothing to be done: see -help")
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	r.Command = strings.Join(append([]string{"go run ."}, os.Args[1:]...), " ")
	if *file != "" {
		if err := writeFile(*file, r.JSON); err != nil {
			return err
		}
	}
	return r.Markdown(os.Stdout)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
