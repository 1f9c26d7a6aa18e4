package jobs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// CheckOptions are the inputs of Check besides the document.
type CheckOptions struct {
	// Reserved reports names that collide with routes of the API; nil reserves none.
	Reserved func(name string) bool
	// Now decides whether a cron will fire again.
	Now time.Time
	// Local is the zone of jobs without a timeZone; nil is UTC.
	Local *time.Location
	// InForce is the stored document that c is or replaces; nil for a new job. Its shardingItemParameters are accepted
	// unchanged if StoredParameters can read them and c has no fewer shards: with fewer, parameters that had an effect
	// would lose it without a word.
	InForce *Config
}

// Limits of a job.
const (
	MaxShards  = 10_000
	MaxRetries = 100
	// MaxTimeoutSeconds is 30 days, MaxRetryBackoffSeconds a day, MaxKillGraceSeconds an hour, MaxUnreachableSeconds a
	// week. An agent that is silent for less than MinUnreachableSeconds may just be slow.
	MaxTimeoutSeconds      = 30 * 24 * 60 * 60
	MaxRetryBackoffSeconds = 24 * 60 * 60
	MaxKillGraceSeconds    = 60 * 60
	MinUnreachableSeconds  = 15
	MaxUnreachableSeconds  = 7 * 24 * 60 * 60
	MaxKeepFailed          = 100
	// MaxDocumentBytes bounds the whole document as JSON.
	MaxDocumentBytes = 512 << 10
	// MaxRunBytes bounds the settings of all shards of a run together, as JSON: each shard gets its own copy of the
	// job's parameter, variables and properties.
	MaxRunBytes = 64 << 20
	// MaxParameterBytes bounds the parameters of one shard as JSON, job parameter and sharding parameter together, if
	// they are passed as an argument or a header. It also bounds one variable of env. A process can't be started with
	// an argument or variable of 128 KiB or more.
	MaxParameterBytes = 64 << 10
)

// Check returns all violations of the document [D15], and notes about settings that are legal but may be unintended.
// It does not check whether the app exists and whether any agent has the resources.
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
		checkRange("keepFailed", c.KeepFailed, MaxKeepFailed),
	)
	bad = append(bad, c.checkEnv()...).And(Schema.CheckText(c))
	return append(bad, c.checkSize()...), slices.Concat(notes, propNotes, handlerNotes, c.exposureNotes())
}

func checkRange(field string, value, most int) document.Violations {
	if value < 0 || value > most {
		return document.Violations{document.Violate(field, strconv.Itoa(value), "must be from 0 to %d", most)}
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

func (c Config) checkSize() document.Violations {
	whole, err := json.Marshal(c)
	switch {
	case err != nil: // can't happen
	case len(whole) > MaxDocumentBytes:
		return document.Violations{document.Violate("", "",
			"the whole document must be at most %d KiB; put data into the package", MaxDocumentBytes>>10)}
	case c.ShardingTotalCount <= MaxShards && len(whole)*c.ShardingTotalCount > MaxRunBytes:
		return c.checkRunSize()
	}
	return nil
}

// RunBytes returns the size of the settings that each shard of a run gets, as JSON, and of all of them together. It
// leaves out the parameters of single shards, which together are smaller than a document.
func (c Config) RunBytes() (each, all int) {
	given := c.WithoutNotifications()
	given.ShardingItemParameters, given.Description = "", ""
	encoded, _ := json.Marshal(given) // never fails
	return len(encoded), len(encoded) * c.ShardingTotalCount
}

func (c Config) checkRunSize() document.Violations {
	each, all := c.RunBytes()
	if all <= MaxRunBytes {
		return nil
	}
	return document.Violations{document.Violate("", "",
		"%d shards are given %s of jobParameter, env and props each, %s together, and may be given at most %s: "+
			"use fewer shards, or put data into the package",
		c.ShardingTotalCount, Bytes(each), Bytes(all), Bytes(MaxRunBytes))}
}

// Bytes formats a number of bytes for people, rounded up: "420 KiB", "165 MiB".
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

// sevenFields returns how a cron of seven fields is read, or "" for any other. The original's documents contain such
// crons, in which the day of month or the day of week looks like the "?".
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

func (c Config) checkShards(inForce *Config) document.Violations {
	var bad document.Violations
	counted := c
	if c.ShardingTotalCount < 1 || c.ShardingTotalCount > MaxShards {
		bad = append(bad, document.Violate("shardingTotalCount", strconv.Itoa(c.ShardingTotalCount),
			"must be from 1 to %d", MaxShards))
		counted.ShardingTotalCount = MaxShards // so that the parameters are still checked
	}
	parameters, wrong := ShardingParameters(counted)
	if len(wrong) > 0 && inForce != nil && inForce.ShardingItemParameters == c.ShardingItemParameters &&
		c.ShardingTotalCount >= inForce.ShardingTotalCount {
		parameters, _, wrong = StoredParameters(counted)
	}
	bad = append(bad, wrong...)
	if _, isRequest := c.HTTP(); !isRequest && !c.ContextArgument() {
		return bad // only the document's size bounds them
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

// parametersAdvice returns what to do about parameters that are too large for an argument or a header.
func (c Config) parametersAdvice() string {
	if c.ContextArgument() {
		return ", since the command's last argument holds it; set " + PropScriptContext +
			" to false, or put data into the package"
	}
	return ", since a header of the request holds it"
}

// jsonBytes returns the size of a text in the sharding context, where a character may take up to six bytes.
func jsonBytes(text string) int {
	encoded, err := json.Marshal(text)
	if err != nil {
		return len(text)
	}
	return len(encoded)
}
