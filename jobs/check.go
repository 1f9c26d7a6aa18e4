package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// CheckOptions are the inputs of Check besides the document.
type CheckOptions struct {
	// Reserved reports whether a name collides with a route of the API; nil reserves no name.
	Reserved func(name string) bool
	// Now is the time after which a cron must fire, or else there is a note.
	Now time.Time
	// Local is the zone of jobs without a timeZone; nil is UTC.
	Local *time.Location
	// InForce is the stored document that c is or replaces; nil for a new job. If c has the same shardingItemParameters
	// and at least as many shards, they are accepted as far as StoredParameters can read them, although a new job could
	// not have them. With fewer shards, some parameters would silently lose their effect.
	InForce *Config
}

// Limits of a job.
const (
	MaxShards  = 10_000
	MaxRetries = 100
	// MaxTimeoutSeconds is 30 days, MaxRetryBackoffSeconds a day, MaxKillGraceSeconds an hour, MaxUnreachableSeconds a
	// week. An agent that is silent for less than MinUnreachableSeconds may only be slow.
	MaxTimeoutSeconds      = 30 * 24 * 60 * 60
	MaxRetryBackoffSeconds = 24 * 60 * 60
	MaxKillGraceSeconds    = 60 * 60
	MinUnreachableSeconds  = 15
	MaxUnreachableSeconds  = 7 * 24 * 60 * 60
	MaxKeepFailed          = 100
	// MaxDocumentBytes limits the whole document as JSON.
	MaxDocumentBytes = 512 << 10
	// MaxRunBytes limits the settings of all shards of a run together, as JSON. Each shard gets its own copy of the
	// job's parameter, variables and properties.
	MaxRunBytes = 64 << 20
	// MaxParameterBytes limits the job parameter and the sharding parameter of one shard together, as JSON, if they
	// are passed as an argument or a header. It also limits one variable of env. A process can't be started with an
	// argument or variable of 128 KiB or more.
	MaxParameterBytes = 64 << 10
)

// Check returns all violations of the document [D15], and notes about settings that are legal but may be unintended.
// It checks neither that the app exists nor that an agent has the resources.
func (c Config) Check(opts CheckOptions) (document.Violations, []string) {
	timing, notes := c.CheckTiming(opts)
	props, propNotes := c.checkProps()
	handlers, handlerNotes := c.checkHandlers()
	bad := slices.Concat(
		c.checkPlaceholders(),
		app.CheckName("jobName", c.JobName, opts.Reserved),
		app.CheckName("appName", c.AppName, nil),
		c.checkExecutionType(),
		timing,
		c.checkShards(opts.InForce),
		app.CheckAmounts(c.CPUCount, c.MemoryMB),
		app.CheckCPULimit(c.CPULimit, c.CPUCount),
		props,
		handlers,
		checkRange("timeoutSeconds", c.TimeoutSeconds, MaxTimeoutSeconds),
		checkRange("maxRetries", c.MaxRetries, MaxRetries),
		checkRange("retryBackoffSeconds", c.RetryBackoffSeconds, MaxRetryBackoffSeconds),
		checkRange("killGraceSeconds", c.KillGraceSeconds, MaxKillGraceSeconds),
		c.checkUnreachable(),
		c.checkLease(),
		checkRange("keepFailed", c.KeepFailed, MaxKeepFailed),
	)
	bad = append(bad, c.checkEnv()...).And(Schema.CheckText(c))
	notes = slices.Concat(notes, propNotes, handlerNotes, c.leaseNotes(), c.exposureNotes())
	return append(bad, c.checkSize()...), notes
}

// checkRange checks that a value is from 0 to limit.
func checkRange(field string, value, limit int) document.Violations {
	if value < 0 || value > limit {
		return document.Violations{document.Violate(field, strconv.Itoa(value), "must be from 0 to %d", limit)}
	}
	return nil
}

func (c Config) checkUnreachable() document.Violations {
	if n := c.UnreachableSeconds; n != 0 && (n < MinUnreachableSeconds || n > MaxUnreachableSeconds) {
		return document.Violations{document.Violate("unreachableSeconds", strconv.Itoa(n),
			"must be from %d to %d, or 0 for the server's default", MinUnreachableSeconds, MaxUnreachableSeconds)}
	}
	return nil
}

// checkLease checks the settings of leases (rule K5). What a request has started goes on when the request ends, so no
// lease can end it.
func (c Config) checkLease() (bad document.Violations) {
	if n := c.LeaseSeconds; n != 0 && (n < lease.MinSeconds || n > lease.MaxSeconds) {
		bad = append(bad, document.Violate("leaseSeconds", strconv.Itoa(n), "must be from %d to %d, or 0 for %d",
			lease.MinSeconds, lease.MaxSeconds, lease.DefaultSeconds))
	}
	if _, isRequest := c.HTTP(); isRequest && c.Exclusive {
		bad = append(bad, document.Violate("exclusive", "true", "is for jobs with a process: what an HTTP request has started can't be ended"))
	}
	return bad
}

// leaseNotes returns warnings about settings of leases. A lease shows that an executor runs, not that the job works, so
// a shard that hangs could block its job forever.
func (c Config) leaseNotes() (notes []string) {
	if !c.Exclusive && c.LeaseSeconds > 0 {
		notes = append(notes, "leaseSeconds has no effect without exclusive: true")
	}
	if c.Exclusive && c.TimeoutSeconds == 0 {
		notes = append(notes, "exclusive: a process that hangs keeps its lease and blocks its shard; set timeoutSeconds")
	}
	return notes
}

// Lease returns the length of the leases of an exclusive job, 0 if the job is not exclusive.
func (c Config) Lease() time.Duration {
	if !c.Exclusive {
		return 0
	}
	return time.Duration(cmp.Or(c.LeaseSeconds, lease.DefaultSeconds)) * time.Second
}

// checkSize checks the size of the document, and that of a run's settings.
func (c Config) checkSize() document.Violations {
	encoded, err := json.Marshal(c)
	switch {
	case err != nil: // can't happen
	case len(encoded) > MaxDocumentBytes:
		return document.Violations{document.Violate("", "",
			"the whole document must be at most %d KiB; put data into the package", MaxDocumentBytes>>10)}
	case c.ShardingTotalCount <= MaxShards && len(encoded)*c.ShardingTotalCount > MaxRunBytes:
		return c.checkRunSize()
	}
	return nil
}

// RunBytes returns the size, as JSON, of the settings that each shard of a run gets, and the total of all shards. It
// leaves out the parameters of single shards, which together are smaller than a document.
func (c Config) RunBytes() (perShard, total int) {
	settings := c.WithoutNotifications()
	settings.ShardingItemParameters, settings.Description = "", ""
	encoded, _ := json.Marshal(settings) // never fails
	return len(encoded), len(encoded) * c.ShardingTotalCount
}

// checkRunSize checks the total size of the settings that the shards of a run get.
func (c Config) checkRunSize() document.Violations {
	perShard, total := c.RunBytes()
	if total <= MaxRunBytes {
		return nil
	}
	return document.Violations{document.Violate("", "",
		"%d shards are given %s of jobParameter, env and props each, %s together, and may be given at most %s: "+
			"use fewer shards, or put data into the package",
		c.ShardingTotalCount, Bytes(perShard), Bytes(total), Bytes(MaxRunBytes))}
}

// Bytes formats a number of bytes for users, rounded up: "420 KiB", "165 MiB".
func Bytes(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20)
}

func (c Config) checkExecutionType() document.Violations {
	message := fmt.Sprintf("must be %s or %s", Transient, Daemon)
	switch c.JobExecutionType {
	case Transient, Daemon:
		return nil
	case "":
		message = fmt.Sprintf("is missing; give %s or %s", Transient, Daemon)
	}
	return document.Violations{document.Violate("jobExecutionType", c.JobExecutionType, "%s", message)}
}

// CheckTiming is the part of Check for cron and timeZone.
func (c Config) CheckTiming(opts CheckOptions) (bad document.Violations, notes []string) {
	if _, err := Zone(c, opts.Local); err != nil {
		bad = append(bad, document.Violate("timeZone", c.TimeZone, "%s", err.Error()))
		c.TimeZone = "" // so that the cron is still checked
	}
	schedule, err := Schedule(c, opts.Local)
	switch {
	case err != nil:
		bad = append(bad, document.Violate("cron", c.Cron, "%s", err.Error()))
	case schedule == nil && c.JobExecutionType == Daemon:
		bad = append(bad, document.Violate("cron", "",
			"is missing: a job of type %s is fired by its cron, and can't be triggered", Daemon))
	case schedule == nil:
		notes = append(notes, "no cron: the job runs on trigger only")
	case schedule.Next(opts.Now).IsZero():
		notes = append(notes, c.neverFires())
	}
	if text := sevenFields(c.Cron); text != "" && err == nil {
		notes = append(notes, text)
	}
	return bad, notes
}

// sevenFields returns a note that says how a cron of seven fields is read; "" for any other cron. The original's
// documents contain such crons, and it is easy to mistake one of their fields for its neighbor.
func sevenFields(cron string) string {
	names := []string{"seconds", "minutes", "hours", "day of month", "month", "day of week", "year"}
	fields := strings.Fields(cron)
	if len(fields) != len(names) {
		return ""
	}
	for i, f := range fields {
		names[i] += " " + f
	}
	text := fmt.Sprintf("cron %q has seven fields and is read as %s", cron, strings.Join(names, ", "))
	if fields[len(fields)-1] == "?" {
		text += ", which is any year"
	}
	return text
}

// neverFires describes the effect of a cron that never fires, or never fires again.
func (c Config) neverFires() string {
	if c.JobExecutionType == Daemon {
		return fmt.Sprintf("cron %q never fires (again): the shards stay, and do nothing", c.Cron)
	}
	return fmt.Sprintf("cron %q never fires (again): the job runs on trigger only", c.Cron)
}

// checkShards checks the number of shards and their parameters. inForce is CheckOptions.InForce.
func (c Config) checkShards(inForce *Config) document.Violations {
	var bad document.Violations
	counted := c
	if c.ShardingTotalCount < 1 || c.ShardingTotalCount > MaxShards {
		bad = append(bad, document.Violate("shardingTotalCount", strconv.Itoa(c.ShardingTotalCount),
			"must be from 1 to %d", MaxShards))
		counted.ShardingTotalCount = MaxShards // so that the parameters are still checked
	}
	parameters, refused := ShardingParameters(counted)
	unchanged := inForce != nil && inForce.ShardingItemParameters == c.ShardingItemParameters
	if len(refused) > 0 && unchanged && c.ShardingTotalCount >= inForce.ShardingTotalCount {
		parameters, _, refused = StoredParameters(counted)
	}
	bad = append(bad, refused...)
	if _, isRequest := c.HTTP(); !isRequest && !c.ContextArgument() {
		return bad // only the document's size limits the parameters
	}
	common := jsonBytes(c.JobParameter)
	if common > MaxParameterBytes {
		return append(bad, document.Violate("jobParameter", c.JobParameter,
			"must be at most %d KiB as JSON"+c.parametersAdvice(), MaxParameterBytes>>10))
	}
	for _, item := range slices.Sorted(maps.Keys(parameters)) {
		if common+jsonBytes(parameters[item]) > MaxParameterBytes {
			return append(bad, document.Violate("shardingItemParameters", parameters[item],
				"the parameter of shard %d and jobParameter must be at most %d KiB together"+c.parametersAdvice(),
				item, MaxParameterBytes>>10))
		}
	}
	return bad
}

// parametersAdvice returns the end of a violation: why the size of parameters is limited, and what to do about it.
func (c Config) parametersAdvice() string {
	if c.ContextArgument() {
		return ", since the command's last argument holds it; set " + PropScriptContext +
			" to false, or put data into the package"
	}
	return ", since a header of the request holds it"
}

// jsonBytes returns the size of a text in the sharding context, which is JSON: a character may take up to six bytes.
func jsonBytes(text string) int {
	encoded, err := json.Marshal(text)
	if err != nil {
		return len(text)
	}
	return len(encoded)
}
