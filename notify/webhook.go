package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// SignatureHeader contains "sha256=" and the HMAC-SHA256 of the body in hex, if the job has a webhook.secret.
const SignatureHeader = "X-Elasticjob-Signature"

// webhookBody is the body of a webhook request. Timestamp is the time of sending in milliseconds; it is signed with
// the rest, so that a receiver can refuse old messages. A repeated message has the same execution and number of
// further failures.
type webhookBody struct {
	Timestamp       int64          `json:"timestamp"`
	Job             string         `json:"jobName"`
	Execution       string         `json:"executionId"`
	Fire            time.Time      `json:"fireTime"`
	Shards          []webhookShard `json:"shards"`
	FailedShards    int            `json:"failedShards"`
	FurtherFailures int            `json:"furtherFailures"`
	Text            string         `json:"text"`
}

type webhookShard struct {
	Item      int              `json:"item"`
	State     executions.State `json:"state"`
	TaskID    string           `json:"taskId"`
	Agent     string           `json:"agent"`
	Cause     string           `json:"failureCause"`
	CauseCode reason.Code      `json:"failureCode,omitempty"`
	CauseArgs map[string]any   `json:"failureArgs,omitempty"`
}

func (s *Sender) webhook(ctx context.Context, n notifications.Notification) error {
	b := webhookBody{
		Timestamp: s.now().UnixMilli(), Job: n.Job.JobName, Execution: n.Execution, Fire: n.Fire.UTC(),
		Shards:       []webhookShard{},
		FailedShards: n.FailedShards, FurtherFailures: n.Further, Text: text(n, maxDingtalk),
	}
	for _, one := range n.Shards {
		b.Shards = append(b.Shards, webhookShard{one.Item, one.State, one.TaskID, one.Agent, one.Cause.String(),
			one.Cause.Code(), one.Cause.Args()})
	}
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	header := map[string]string{}
	if secret := n.Job.Prop(jobs.PropWebhookSecret); secret != "" {
		header[SignatureHeader] = sign(secret, body)
	}
	status, _, err := post(ctx, request{
		address: n.Job.Prop(jobs.PropWebhookURL), body: body, header: header,
		connect: millis(n.Job, jobs.PropWebhookConnectTimeout, defaultConnectTimeout),
		read:    millis(n.Job, jobs.PropWebhookReadTimeout, defaultReadTimeout),
	})
	if err == nil && (status < 200 || status > 299) {
		err = fmt.Errorf("the webhook answers %d", status) // the rest may be confidential
	}
	return err
}

func sign(secret string, body []byte) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write(body)
	return "sha256=" + hex.EncodeToString(sum.Sum(nil))
}
