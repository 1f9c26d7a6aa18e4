package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/hook"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// SignatureHeader is a header of the request if the job has a webhook.secret. Its value is "sha256=" and the
// HMAC-SHA256 of the body in hexadecimal.
const SignatureHeader = "X-Elasticjob-Signature"

// webhookBody is the body of a webhook request. If a message is sent again, the execution and the number of further
// failures are the same.
type webhookBody struct {
	// Timestamp is the time of sending in milliseconds of Unix time. The signature includes it, so that a receiver can
	// refuse old messages.
	Timestamp int64 `json:"timestamp"`
	webhookJob
	Text string `json:"text"`
	// OtherJobs are the first maxOtherJobs of the OtherJobCount other jobs in the same message.
	OtherJobs     []webhookJob `json:"otherJobs,omitempty"`
	OtherJobCount int          `json:"otherJobCount,omitempty"`
}

// maxOtherJobs is the greatest number of other jobs in a body.
const maxOtherJobs = 500

// webhookJob describes the newest failure of one job, and the notices about it. Without a failure, Execution is empty
// and the times are nil. Job is empty in a report to operators.
type webhookJob struct {
	Job             string         `json:"jobName"`
	Execution       string         `json:"executionId"`
	Fire            *time.Time     `json:"fireTime"`
	Shards          []webhookShard `json:"shards"`
	FailedShards    int            `json:"failedShards"`
	FurtherFailures int            `json:"furtherFailures"`
	FirstFailure    *time.Time     `json:"firstFailure"`
	LastFailure     *time.Time     `json:"lastFailure"`
	Notices         []notice       `json:"notices,omitempty"`
	OmittedNotices  int            `json:"omittedNotices,omitempty"`
}

// notice is a message about something other than a failed run: a sentence, and a code with arguments for programs.
type notice struct {
	Time    time.Time      `json:"time"`
	Message string         `json:"message"`
	Code    reason.Code    `json:"code"`
	Args    map[string]any `json:"args,omitempty"`
}

// webhookJobOf describes what is reported of a job.
func webhookJobOf(job string, r *notifications.Report) webhookJob {
	w := webhookJob{Job: job, Execution: r.Execution, Shards: shardsOf(r.Failure), FailedShards: r.FailedShards,
		FurtherFailures: r.Further, OmittedNotices: r.Omitted}
	if r.Execution != "" {
		fire, first, last := r.Fire.UTC(), r.First.UTC(), r.Last.UTC()
		w.Fire, w.FirstFailure, w.LastFailure = &fire, &first, &last
	}
	for _, n := range r.Notices {
		w.Notices = append(w.Notices, notice{n.At.UTC(), n.Why.String(), n.Why.Code(), n.Why.Args()})
	}
	return w
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
		Timestamp: s.now().UnixMilli(), webhookJob: webhookJobOf(n.Job.JobName, &n.Report),
		Text: text(n, maxDingtalk), OtherJobCount: len(n.Others),
	}
	for _, o := range n.Others[:min(len(n.Others), maxOtherJobs)] {
		b.OtherJobs = append(b.OtherJobs, webhookJobOf(o.Job, &o.Report))
	}
	body, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	if template := n.Job.Prop(jobs.PropWebhookTemplate); template != "" {
		if body, err = hook.Render(template, body, n.Job.Prop(jobs.PropWebhookSecret), s.now()); err != nil {
			return &notifications.Error{Text: "webhook.template: " + err.Error(), Final: true}
		}
	}
	header := map[string]string{}
	if value := n.Job.Prop(jobs.PropWebhookAuthorization); value != "" {
		header["Authorization"] = value
	}
	if secret := n.Job.Prop(jobs.PropWebhookSecret); secret != "" {
		header[SignatureHeader] = sign(secret, body)
	}
	status, answer, err := post(ctx, request{
		address: n.Job.Prop(jobs.PropWebhookURL), body: body, header: header,
		connect: timeout(n.Job, jobs.PropWebhookConnectTimeout, defaultConnectTimeout),
		read:    timeout(n.Job, jobs.PropWebhookReadTimeout, defaultReadTimeout),
	})
	if err == nil {
		err = checkStatus("the webhook", status)
	}
	if err == nil {
		u, _ := url.Parse(n.Job.Prop(jobs.PropWebhookURL)) // post has parsed it
		err = checkAnswer("the webhook", u.Hostname(), answer)
	}
	return err
}

func shardsOf(f notifications.Failure) []webhookShard {
	shards := []webhookShard{}
	for _, s := range f.Shards {
		shards = append(shards, webhookShard{s.Item, s.State, s.TaskID, s.Agent, s.Cause.String(), s.Cause.Code(),
			s.Cause.Args()})
	}
	return shards
}

// sign returns the value of SignatureHeader.
func sign(secret string, body []byte) string {
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write(body)
	return "sha256=" + hex.EncodeToString(sum.Sum(nil))
}
