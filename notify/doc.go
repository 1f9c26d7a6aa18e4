// Package notify sends notifications about failed runs: by mail, WeChat, DingTalk or a webhook, according to a job's
// jobErrorHandlerType and properties.
//
//	scheduler/core: a result is committed with its notification ──► scheduler: Notifier ──► Sender.Notify
//	                                                                                            │ by type
//	                                                     email.go, chat.go, webhook.go ◄────────┘
//
// Only the leader sends notifications, so that no secret reaches an agent. The core decides when a notification is
// sent, how often it is retried, and which failures share a message. This package tries once, within a bounded time,
// and returns the result without any secret and without the text of the server's answer (problem.go). text.go creates
// the text of a message, post.go has the common part of all handlers over HTTP.
package notify
