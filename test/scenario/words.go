package scenario

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
)

// Words are the words after the name of a command, and its options NAME=VALUE. Words and options that are used are
// removed, so that a scene can detect unused ones.
type Words struct {
	List    []string
	Options map[string]string
	// Err contains the errors of the words that were used.
	Err error
}

// Split splits a line like a POSIX shell into the command's name and its words.
func Split(line string) (name string, w *Words, err error) {
	all, err := app.SplitCommand(line)
	if err != nil {
		return "", nil, err
	}
	w = &Words{Options: map[string]string{}}
	for _, one := range all[1:] {
		if name, value, ok := strings.Cut(one, "="); ok {
			w.Options[name] = value
		} else {
			w.List = append(w.List, one)
		}
	}
	return all[0], w, nil
}

// Next removes and returns the next word.
func (w *Words) Next() string {
	if len(w.List) == 0 {
		w.Err = errors.Join(w.Err, errors.New("a word is missing"))
		return ""
	}
	word := w.List[0]
	w.List = w.List[1:]
	return word
}

// Option removes and returns an option's value; otherwise if it is missing.
func (w *Words) Option(name, otherwise string) string {
	value, ok := w.Options[name]
	if !ok {
		return otherwise
	}
	delete(w.Options, name)
	return value
}

// Number removes and returns an option's value as a number; otherwise if it is missing.
func (w *Words) Number(name string, otherwise float64) float64 {
	text, ok := w.Options[name]
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	w.Err = errors.Join(w.Err, err)
	delete(w.Options, name)
	return n
}

// Duration removes and returns the next word as a duration.
func (w *Words) Duration() time.Duration {
	d, err := time.ParseDuration(w.Next())
	w.Err = errors.Join(w.Err, err)
	return d
}
