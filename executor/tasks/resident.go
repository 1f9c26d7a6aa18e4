package tasks

import (
	"encoding/json"
	"fmt"

	"github.com/elasticjob-go/elasticjob/executor/launch"
	"github.com/elasticjob-go/elasticjob/executor/output"
	"github.com/elasticjob-go/elasticjob/executor/pipe"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// known refuses a process whose version of the protocol is not known.
func known(hello pipe.Message) error {
	if hello.Version >= 1 && hello.Version <= pipe.Version {
		return nil
	}
	return fmt.Errorf("the process (%q) speaks version %d of the protocol between executor and process, this executor knows 1 to %d: update the scheduler, which brings the executor, or build the job with an older SDK",
		hello.SDK, hello.Version, pipe.Version)
}

// errorOf is the error of a done, as it can be shown; empty when the run succeeded.
func errorOf(done pipe.Message) string {
	text := output.Readable(done.Error, len(done.Error))
	if text == "" && done.Error != "" {
		return "the run failed, and its error has no text"
	}
	return text
}

// runOf is what a resident process is asked for.
func runOf(spec wire.Task, id string) pipe.Run {
	shard, _ := launch.ShardContext(spec) // without an error: its process was started with it
	return pipe.Run{
		ID: id, FireTime: spec.FireTime, Source: spec.Source, Attempt: spec.Attempt, ExecutionID: spec.ExecutionID,
		Context: json.RawMessage(shard), Props: spec.Props,
	}
}
