package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

// The greatest sizes of a message in bytes. WeChat refuses larger messages; DingTalk accepts a request of 20,000
// bytes.
const (
	maxWechat   = 2048
	maxDingtalk = 16 << 10
)

// ElasticJob-Cloud's default timeouts in milliseconds, for all handlers over HTTP.
const (
	defaultConnectTimeout = 3000
	defaultReadTimeout    = 5000
)

func (s *Sender) wechat(ctx context.Context, n notifications.Notification) error {
	return postText(ctx, n.Job.Prop(jobs.PropWechatWebhook), text(n, maxWechat),
		timeout(n.Job, jobs.PropWechatConnectTimeout, defaultConnectTimeout),
		timeout(n.Job, jobs.PropWechatReadTimeout, defaultReadTimeout))
}

func (s *Sender) dingtalk(ctx context.Context, n notifications.Notification) error {
	address := n.Job.Prop(jobs.PropDingtalkWebhook)
	if secret := n.Job.Prop(jobs.PropDingtalkSecret); secret != "" {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + signDingtalk(secret, s.now()).Encode()
	}
	return postText(ctx, address, n.Job.Prop(jobs.PropDingtalkKeyword)+text(n, maxDingtalk),
		timeout(n.Job, jobs.PropDingtalkConnectTimeout, defaultConnectTimeout),
		timeout(n.Job, jobs.PropDingtalkReadTimeout, defaultReadTimeout))
}

// signDingtalk returns the parameters that DingTalk's robots require in addition to the token (contract 5.6).
func signDingtalk(secret string, now time.Time) url.Values {
	timestamp := strconv.FormatInt(now.UnixMilli(), 10)
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(timestamp + "\n" + secret))
	return url.Values{"timestamp": {timestamp}, "sign": {base64.StdEncoding.EncodeToString(sum.Sum(nil))}}
}

// postText sends a message in the format of WeChat's and DingTalk's robots. It returns an error unless the status is
// 2xx and the answer's errcode is 0.
func postText(ctx context.Context, address, content string, connect, read time.Duration) error {
	type text struct {
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Type string `json:"msgtype"`
		Text text   `json:"text"`
	}{"text", text{content}})
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	status, answer, err := post(ctx, request{address: address, body: body, connect: connect, read: read})
	if err != nil {
		return err
	}
	if err := checkStatus("the robot", status); err != nil {
		return err
	}
	var result struct {
		Code *int `json:"errcode"`
	}
	if json.Unmarshal(answer, &result) != nil || result.Code == nil {
		return errors.New("the robot's answer has no errcode")
	}
	if *result.Code != 0 {
		return refusedWith("the robot", "errcode", *result.Code)
	}
	return nil
}
