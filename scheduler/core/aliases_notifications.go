package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/notifications"

type Notification = notifications.Notification
type NotificationSent = notifications.NotificationSent
