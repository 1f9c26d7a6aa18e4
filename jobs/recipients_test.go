package jobs_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestDecodeRecipients checks that the file must contain an error handler that notifies, may contain its properties,
// and that everything else is refused without a secret in the error.
func TestDecodeRecipients(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		`{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":"https://h/x","webhook.secret":"hush"}}`: "",
		`{"jobErrorHandlerType":"DINGTALK","props":{"dingtalk.webhook":"https://h/x"}}`:                   "",
		`{}`:                              "jobErrorHandlerType",
		`{"jobErrorHandlerType":"LOG"}`:   "must be one of EMAIL, WECHAT, DINGTALK, WEBHOOK",
		`{"jobErrorHandlerType":"EMAIL"}`: "props.email.host",
		`{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":"https://h/x","mine":"hush"}}`:    "props.mine",
		`{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":"https://h/x"},"jobName":"hush"}`: "jobName",
		`{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":"hush"}}`:                         "props.webhook.url",
	} {
		c, err := jobs.DecodeRecipients([]byte(text))
		switch {
		case wrong == "" && (err != nil || !c.Notifies()):
			t.Errorf("%s: %v, %+v", text, err, c)
		case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%s: %v, want %s", text, err, wrong)
		}
	}
}
