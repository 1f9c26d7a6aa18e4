package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/config"

type AppChanged = config.AppChanged
type Change = config.Change
type DeleteApp = config.DeleteApp
type DeregisterJob = config.DeregisterJob
type DisableApp = config.DisableApp
type DisableJob = config.DisableJob
type Document = config.Document
type DocumentFaulty = config.DocumentFaulty

var EditOf = config.EditOf

type JobChanged = config.JobChanged

const JobDisabled = config.JobDisabled
const JobEnabled = config.JobEnabled
const JobPaused = config.JobPaused
const JobShuttingDown = config.JobShuttingDown

type JobState = config.JobState

var ReadDocument = config.ReadDocument

type RegisterApp = config.RegisterApp
type RegisterJob = config.RegisterJob
type ScheduleView = config.ScheduleView
type ShutDownJob = config.ShutDownJob

const StaleVersion = config.StaleVersion

type UpdateApp = config.UpdateApp
type UpdateJob = config.UpdateJob
