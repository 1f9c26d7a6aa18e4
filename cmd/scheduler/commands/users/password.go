package users

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxPasswordInput is how many bytes are read for a password. A valid password is shorter.
const maxPasswordInput = 4096

// askPassword asks for a new password: twice and without echo if in is a terminal, otherwise it reads one line.
func askPassword(ctx context.Context, in io.Reader, out io.Writer, name string) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return askTwice(ctx, f, out, name)
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordInput)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return "", errors.New("standard input has no password: write it there as one line, or run this command on a terminal")
	}
	return line, nil
}

func askTwice(ctx context.Context, f *os.File, out io.Writer, name string) (string, error) {
	first, err := askOnce(ctx, f, out, "Password for "+name+": ")
	if err != nil {
		return "", err
	}
	again, err := askOnce(ctx, f, out, "Once more: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", errors.New("the two passwords differ: nothing was changed")
	}
	return first, nil
}

// askOnce reads a line without echo. When ctx ends, it restores the state of the terminal.
func askOnce(ctx context.Context, f *os.File, out io.Writer, question string) (string, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	fmt.Fprint(out, question)
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // if the user enters nothing, this goroutine blocks until the process ends
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		fmt.Fprintln(out)
		if a.err != nil {
			return "", fmt.Errorf("ask for the password: %w", a.err)
		}
		return string(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(out)
		// ReadPassword has switched the echo off, and does not return to restore it.
		return "", errors.Join(errors.New("interrupted: nothing was changed"), term.Restore(fd, before))
	}
}
