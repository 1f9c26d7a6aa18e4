// Command go-dataflow counts the words of files that others put into a spool folder, the job parameter. Each file is
// counted once, however many shards there are and whatever is killed in the middle:
//
//	SPOOL/in/NAME         to be counted; put it there by a rename, so that it is whole
//	SPOOL/taken/2/NAME    shard 2 has taken it, by a rename: only one shard can
//	SPOOL/partial/NAME    its result, as long as that is being written
//	SPOOL/done/NAME       its result, put there by a rename: only now it has been counted
//
// A shard that is run again after a kill finds what it had taken, and goes on with that.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/sdk"
)

// most is how many files make a batch.
const most = 10

func main() { sdk.Main(sdk.Dataflow(fetch, process)) }

// fetch gives the paths of files that the shard has taken, those of an earlier run first.
func fetch(_ context.Context, s sdk.Shard) ([]string, error) {
	if s.JobParameter == "" {
		return nil, errors.New("the job parameter is empty: it names the spool folder")
	}
	own := filepath.Join(s.JobParameter, "taken", strconv.Itoa(s.Item))
	for _, folder := range []string{"in", filepath.Join("taken", strconv.Itoa(s.Item)), "partial", "done"} {
		if err := os.MkdirAll(filepath.Join(s.JobParameter, folder), 0o755); err != nil {
			return nil, err
		}
	}
	if err := inherit(s, own); err != nil {
		return nil, err
	}
	batch, err := filepath.Glob(filepath.Join(own, "*"))
	if err != nil || len(batch) > 0 {
		return batch[:min(len(batch), most)], err
	}
	waiting, err := os.ReadDir(filepath.Join(s.JobParameter, "in"))
	if err != nil {
		return nil, err
	}
	for _, file := range waiting {
		taken := filepath.Join(own, file.Name())
		switch err := os.Rename(filepath.Join(s.JobParameter, "in", file.Name()), taken); {
		case errors.Is(err, fs.ErrNotExist): // another shard was faster
		case err != nil:
			return nil, err
		default:
			batch = append(batch, taken)
		}
		if len(batch) == most {
			break
		}
	}
	return batch, nil
}

// inherit takes over what shards had taken that there are no more, since the job has fewer shards now.
func inherit(s sdk.Shard, own string) error {
	left, err := filepath.Glob(filepath.Join(s.JobParameter, "taken", "*", "*"))
	if err != nil {
		return err
	}
	for _, file := range left {
		if item, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && item >= s.Total &&
			item%s.Total == s.Item {
			if err := os.Rename(file, filepath.Join(own, filepath.Base(file))); err != nil {
				return err
			}
		}
	}
	return nil
}

// process counts the words of files. A kill between any two of its steps leaves a file either taken or done.
func process(ctx context.Context, s sdk.Shard, batch []string) error {
	for i, file := range batch {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		partial := filepath.Join(s.JobParameter, "partial", filepath.Base(file))
		if err := os.WriteFile(partial, fmt.Appendln(nil, len(strings.Fields(string(text)))), 0o644); err != nil {
			return err
		}
		if err := os.Rename(partial, filepath.Join(s.JobParameter, "done", filepath.Base(file))); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		fmt.Printf("shard %d counted %s\n", s.Item, filepath.Base(file))
		s.Progress(float64(i+1)/float64(len(batch)), fmt.Sprintf("%d of %d files of this batch", i+1, len(batch)))
	}
	return nil
}
