package tasks

import (
	"encoding/json"
	"fmt"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// checkVersion returns an error if this executor does not know the version of the pipe's protocol that the process
// uses.
func checkVersion(hello pipe.Message) error {
	if hello.Version >= 1 && hello.Version <= pipe.Version {
		return nil
	}
	return fmt.Errorf("the process (%q) speaks version %d of the protocol between executor and process, this executor knows 1 to %d: update the scheduler, which brings the executor, or build the job with an older SDK",
		hello.SDK, hello.Version, pipe.Version)
}

// errorText returns the error text of a done message in printable form. It returns "" if the run succeeded.
func errorText(done pipe.Message) string {
	text := output.Readable(done.Error, len(done.Error))
	if text == "" && done.Error != "" {
		return "the run failed, and its error has no text"
	}
	return text
}

// runMessage returns the message that asks a resident process for a run.
func runMessage(spec wire.Task, id string) pipe.Run {
	shard, _ := launch.ShardContext(spec) // no error: the same context was made for the start of the process
	return pipe.Run{
		ID: id, FireTime: wire.FormatFireTime(spec.FireTime), Source: spec.Source, Attempt: spec.Attempt,
		ExecutionID: spec.ExecutionID,
		Context:     json.RawMessage(shard), Props: spec.Props,
	}
}
