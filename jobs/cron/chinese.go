package cron

import (
	"fmt"
	"strings"
)

// chinese returns the words in the order of a Chinese sentence: years, months, days, times.
func (p phrase) chinese() string {
	if p.never {
		return "从不"
	}
	when, date := p.time.chinese(), p.datesChinese()
	switch {
	case p.days.form == everyDay && p.months == allMonths && p.anyYear && p.time.needsNoDay():
		return when
	case p.time.needsNoDay():
		return date + "，" + when
	case strings.HasSuffix(date, "）"), strings.HasSuffix(date, "天") && p.time.form == byField:
		return date + when
	case p.time.form == byField:
		return date + "，" + when
	}
	return date + " " + when
}

// datesChinese returns the words for everything except the time of day.
func (p phrase) datesChinese() string {
	years, months, days := p.yearsChinese(), p.monthsChinese(), p.days.chinese()
	switch {
	case months == "" && (p.days.form == onDaysOfWeek || p.days.form == everyDay):
		return years + "每" + days
	case months == "":
		return years + "每月" + days
	case years == "":
		years = "每年 "
	case !strings.HasSuffix(years, "，"):
		years += " "
	}
	switch oneMonth := p.months&(p.months-1) == 0; {
	case p.days.form == everyDay:
		days = "的每天"
	case p.days.form != nearestTo && p.days.form != nearestBeforeLast && !(oneMonth && p.days.form == onDates):
		days = "的" + days
	}
	return years + months + days
}

// chinese returns the words for the times of day.
func (p timePhrase) chinese() string {
	switch p.form {
	case everyStep:
		return "每" + stepChinese(p.step)
	case everyStepFrom:
		if p.step < secondsOfMinute {
			return fmt.Sprintf("从每分钟第 %d 秒起每%s", p.first, stepChinese(p.step))
		}
		return fmt.Sprintf("从每小时%s起每%s", minuteChinese(p.first), stepChinese(p.step))
	case onceAnHour:
		return "每小时" + minuteChinese(p.first)
	case onceAMinute:
		return fmt.Sprintf("每分钟第 %d 秒", p.first)
	case atTimes:
		return strings.Join(clocks(p.times), "、")
	case inSpans:
		return p.spansChinese()
	}
	return p.fieldsChinese()
}

// spansChinese returns the words for spans with a common step. It puts single times last, after the step.
func (p timePhrase) spansChinese() string {
	var spans, single []string
	for _, s := range p.spans {
		c := clocksOf(p.spans, s)
		switch {
		case s.from == s.to:
			single = append(single, c[0])
		case s.to < s.from:
			spans = append(spans, c[0]+" 至次日 "+c[1])
		default:
			spans = append(spans, c[0]+" 至 "+c[1])
		}
	}
	text := strings.Join(spans, "、") + " 每" + stepChinese(p.step)
	if len(single) > 0 {
		text += "，以及 " + strings.Join(single, "、")
	}
	return text
}

// fieldsChinese describes each of the three fields, the longest unit first. It leaves out second 0, and it leaves out
// "every hour" before "every minute".
func (p timePhrase) fieldsChinese() string {
	var parts []string
	allMinutes := p.minutes.whole(59)
	switch {
	case !p.everyHour:
		parts = append(parts, fieldChinese("时", p.hours))
	case !allMinutes:
		parts = append(parts, "每小时")
	}
	if allMinutes {
		parts = append(parts, "每分钟")
	} else {
		parts = append(parts, fieldChinese("分", p.minutes))
	}
	switch {
	case p.seconds.whole(59):
		parts = append(parts, "每秒")
	case !p.seconds.single() || p.seconds[0].from != 0:
		parts = append(parts, fieldChinese("秒", p.seconds))
	}
	return strings.Join(parts, "的")
}

// fieldChinese describes the values of one field. All runs with a step are alone in their field.
func fieldChinese(unit string, values runs) string {
	text := "第 " + strings.Join(runTexts(values, func(n int) string { return fmt.Sprint(n) }, " 至 ",
		func(int) string { return "" }), "、") + " " + unit
	if step := values[0].step; step > 1 {
		text += fmt.Sprintf("（间隔 %d）", step)
	}
	return text
}

// stepChinese describes the time between two fires, in seconds, in the form that follows "每".
func stepChinese(step int) string {
	n, unit := inUnits(step, "秒", "分钟", "小时")
	if n == 1 {
		return unit
	}
	return fmt.Sprintf(" %d %s", n, unit)
}

// minuteChinese describes a time within an hour, in seconds.
func minuteChinese(offset int) string {
	text := fmt.Sprintf("第 %d 分", offset/secondsOfMinute)
	if second := offset % secondsOfMinute; second != 0 {
		text += fmt.Sprintf(" %d 秒", second)
	}
	return text
}

// chinese returns the words for the days, in the form that follows "每月" or "的".
func (r dayRule) chinese() string {
	switch r.form {
	case onDates:
		dates := runsOf(r.days.members())
		return " " + strings.Join(runTexts(dates, func(n int) string { return fmt.Sprint(n, " 日") }, "至 ",
			func(step int) string { return fmt.Sprintf("每 %d 天", step) }), "、")
	case onDaysOfWeek:
		if from, to, ok := inCircle(weekOrder(r.days), 7); ok {
			return weekdayChinese(from) + "至" + weekdayChinese(to)
		}
		var all []string
		for _, day := range weekOrder(r.days).members() {
			all = append(all, weekdayChinese(day))
		}
		return strings.Join(all, "、")
	case beforeLast:
		return beforeLastChinese(r.n)
	case nearestBeforeLast:
		if r.n == 0 {
			return "最后一个工作日（周一至周五）"
		}
		return "离" + beforeLastChinese(r.n) + "最近的工作日（周一至周五）"
	case nearestTo:
		return fmt.Sprintf("离 %d 日最近的工作日（周一至周五）", r.day)
	case lastOfWeek:
		return "最后一个" + weekdayChinese((r.day+5)%7+1)
	case nthOfWeek:
		return fmt.Sprintf("第 %d 个%s", r.n, weekdayChinese((r.day+5)%7+1))
	}
	return "天"
}

// beforeLastChinese describes the day that is n days before the last day of a month.
func beforeLastChinese(n int) string {
	if n == 0 {
		return "最后一天"
	}
	return fmt.Sprintf("倒数第 %d 天", n+1)
}

// weekdayChinese returns the name of a day of the week; Monday is 1 and Sunday 7.
func weekdayChinese(day int) string {
	return "周" + [...]string{"一", "二", "三", "四", "五", "六", "日"}[day-1]
}

// monthsChinese returns the words for the months; "" for all months.
func (p phrase) monthsChinese() string {
	if p.months == allMonths {
		return ""
	}
	if from, to, ok := inCircle(p.months, 12); ok && (from < to || p.anyYear) {
		if to < from {
			return fmt.Sprintf("%d 月至次年 %d 月", from, to)
		}
		return fmt.Sprintf("%d 月至 %d 月", from, to)
	}
	var all []string
	for _, m := range p.months.members() {
		all = append(all, fmt.Sprintf("%d 月", m))
	}
	return strings.Join(all, "、")
}

// yearsChinese returns the words for the years; "" for all years. It adds a comma after more than one year.
func (p phrase) yearsChinese() string {
	if p.anyYear {
		return ""
	}
	if y := p.years[0]; len(p.years) == 1 && y.from != y.to && y.to == lastYear && y.step == 1 {
		return fmt.Sprintf("%d 年起，", y.from)
	}
	text := strings.Join(runTexts(p.years, func(n int) string { return fmt.Sprintf("%d 年", n) }, "至 ",
		func(step int) string { return fmt.Sprintf("每 %d 年", step) }), "、")
	if p.years.single() {
		return text
	}
	return text + "，"
}
