// Command go-dataflow counts the words of files that other programs put into a spool folder, the job parameter. Each
// file is counted exactly once, with any number of shards and kills:
//
//	SPOOL/in/NAME         a file to count; rename it into this folder, so that it is complete
//	SPOOL/taken/2/NAME    shard 2 has taken the file by a rename, which only one shard can do
//	SPOOL/partial/NAME    the result while it is being written
//	SPOOL/done/NAME       the result, renamed into this folder: now the file has been counted
//
// A shard that runs again after a kill continues with the files that it has taken.
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

// batchSize is the number of files in a batch.
const batchSize = 10

func main() { sdk.Main(sdk.Dataflow(fetch, process)) }

// fetch returns the paths of files that the shard has taken, starting with those of an earlier run.
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
		return batch[:min(len(batch), batchSize)], err
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
		if len(batch) == batchSize {
			break
		}
	}
	return batch, nil
}

// inherit takes over the files of shards that no longer exist because the job has fewer shards now.
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

// process counts the words of files. If it is killed between any two steps, each file is either taken or done.
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
