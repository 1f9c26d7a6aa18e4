// Package notify tells people of runs that failed: by mail, WeChat, DingTalk or a webhook, as a job's
// jobErrorHandlerType and properties say.
//
//	scheduler/core: a result is committed, and with it what is to be told ──► scheduler: Notifier ──► Sender.Notify
//	                                                                                                    │ by type
//	                                                             email.go, chat.go, webhook.go ◄────────┘
//
// It runs in the leader alone, so that no secret reaches an agent. When something is sent, how often it is tried and
// what is put into one message the core decides; this package tries once, within a bounded time, and says what came
// of it without any secret, and without the words of the server (problem.go). text.go has what people read, post.go
// what all handlers over HTTP do.
package notify
