package local

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mesos/mesos-go/api/v1/lib/recordio"

	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/agent"
)

// runExecutor says RUNNING for each task, and FINISHED for those named "short", sends a message for those named
// "says", until SHUTDOWN. A stream that breaks is opened again.
func runExecutor() error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		done, err := executorStream()
		if done || err != nil {
			return err
		}
		<-again.C
	}
}

// ofItsRelease is the environment as an executor reads it. One of an older release knows of no TLS.
func ofItsRelease(name string) string {
	if os.Getenv(actAsExecutor) == olderRelease && name == agent.TLSVariable {
		return ""
	}
	return os.Getenv(name)
}

func executorStream() (done bool, err error) {
	ids := object{
		"framework_id": object{"value": os.Getenv("MESOS_FRAMEWORK_ID")},
		"executor_id":  object{"value": os.Getenv("MESOS_EXECUTOR_ID")},
	}
	config, err := executor.FromEnvironment(ofItsRelease)
	if err != nil {
		return true, err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config.TLS}}
	defer client.CloseIdleConnections()
	post := func(kind string, body any) (*http.Response, error) {
		call := object{"type": kind, strings.ToLower(kind): body, "framework_id": ids["framework_id"],
			"executor_id": ids["executor_id"]}
		encoded, err := json.Marshal(call)
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequest(http.MethodPost, config.Agent+"/api/v1/executor", bytes.NewReader(encoded))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		if token := os.Getenv(tokenVariable); token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		return client.Do(request)
	}
	tell := func(task, state string) error {
		id := uuid.New()
		answer, err := post("UPDATE", object{"status": object{
			"task_id": object{"value": task}, "state": state, "source": "SOURCE_EXECUTOR",
			"uuid": base64.StdEncoding.EncodeToString(id[:]), "timestamp": float64(time.Now().UnixMicro()) / 1e6,
		}})
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	response, err := post("SUBSCRIBE", object{"unacknowledged_tasks": []any{}, "unacknowledged_updates": []any{}})
	if err != nil {
		return false, nil // the agent is away
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return false, nil
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return true, fmt.Errorf("subscribe: %d %s", response.StatusCode, text)
	}
	frames := recordio.NewReader(response.Body)
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			return false, nil
		}
		var event struct {
			Type   string
			Launch struct {
				Task struct {
					Name   string
					TaskID struct{ Value string } `json:"task_id"`
				}
			}
			Kill struct {
				TaskID struct{ Value string } `json:"task_id"`
			}
		}
		if err := json.Unmarshal(frame, &event); err != nil {
			return true, err
		}
		switch event.Type {
		case "SHUTDOWN":
			return true, nil
		case "KILL":
			if err := tell(event.Kill.TaskID.Value, "TASK_KILLED"); err != nil {
				return true, err
			}
		case "LAUNCH":
			if event.Launch.Task.Name == "says" {
				answer, err := post("MESSAGE",
					object{"data": base64.StdEncoding.EncodeToString([]byte(event.Launch.Task.TaskID.Value))})
				if err != nil {
					return true, err
				}
				answer.Body.Close()
			}
			states := []string{"TASK_RUNNING"}
			if event.Launch.Task.Name == "short" {
				states = append(states, "TASK_FINISHED")
			}
			for _, state := range states {
				if err := tell(event.Launch.Task.TaskID.Value, state); err != nil {
					return true, err
				}
			}
		}
	}
}
