package jobs

import (
	"regexp"
	"strings"
	"time"
)

// javaOffset matches an offset as Java writes it: GMT+8, UTC+08:00, +0530.
var javaOffset = regexp.MustCompile(`^(?:GMT|UTC|UT)?([+-])0?(\d{1,2}?)(?::?([0-5]\d))?$`)

// JavaZone converts Java's name of a time zone to IANA's name: GMT+08:00 to Etc/GMT-8, and CST to America/Chicago. It
// returns all other names unchanged, without the blanks around them: they mean the same in both systems, or IANA has
// no zone for them.
func JavaZone(zone string) string {
	zone = strings.TrimSpace(zone)
	if name, ok := javaZones[zone]; ok {
		return name
	}
	parts := javaOffset.FindStringSubmatch(zone)
	if parts == nil {
		return zone
	}
	sign, hours, minutes := parts[1], parts[2], parts[3]
	name := "Etc/GMT" + map[string]string{"+": "-", "-": "+"}[sign] + hours
	switch {
	case minutes != "" && minutes != "00":
		name = partialOffsets[sign+hours+":"+minutes]
	case hours == "0":
		name = "Etc/GMT"
	}
	if _, err := time.LoadLocation(name); err != nil || name == "" {
		return zone
	}
	return name
}

// javaZones contains IANA's names for those of Java's old names (java.time.ZoneId.SHORT_IDS) that IANA's database
// lacks or uses for another zone.
var javaZones = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
	"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
	"CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
	"EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
	"JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
	"PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
	"SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh", "Z": "Etc/UTC",
}

// partialOffsets are zones without daylight saving time whose offsets are not whole hours. IANA's Etc zones have only
// whole hours.
var partialOffsets = map[string]string{
	"+3:30": "Asia/Tehran", "+4:30": "Asia/Kabul", "+5:30": "Asia/Kolkata", "+5:45": "Asia/Kathmandu",
	"+6:30": "Asia/Yangon", "+8:45": "Australia/Eucla", "+9:30": "Australia/Darwin", "-9:30": "Pacific/Marquesas",
}
