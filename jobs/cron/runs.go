package cron

// The sets of all values of the fields.
const (
	allOfSixty  = set(1<<60 - 1)
	allMonths   = set(1<<13 - 1<<1)
	allDates    = set(1<<32 - 1<<1)
	allWeekdays = set(1<<8 - 1<<1)
)

// members returns the numbers of a set, in order.
func (s set) members() (all []int) {
	for n, ok := s.from(0); ok; n, ok = s.from(n + 1) {
		all = append(all, n)
	}
	return all
}

// run contains the numbers from from to to, by step.
type run struct{ from, to, step int }

// runs is a set of numbers, grouped so that it can be described briefly. Different sets have different runs.
type runs []run

// runsOf groups numbers. It returns a single run if the numbers are equidistant, but not consecutive, and more than
// minStepTimes. Otherwise it returns one run for each group of three or more consecutive numbers, and one for each
// other number.
func runsOf(numbers []int) (all runs) {
	if step := stepOf(numbers); step > 1 && len(numbers) > minStepTimes {
		return runs{{numbers[0], numbers[len(numbers)-1], step}}
	}
	for _, r := range splitRuns(numbers) {
		if len(r) > 2 {
			all = append(all, run{r[0], r[len(r)-1], 1})
			continue
		}
		for _, n := range r {
			all = append(all, run{n, n, 1})
		}
	}
	return all
}

// single reports whether the set contains only one number.
func (r runs) single() bool { return len(r) == 1 && r[0].from == r[0].to }

// whole reports whether the set contains all numbers from 0 to last.
func (r runs) whole(last int) bool { return len(r) == 1 && r[0] == run{0, last, 1} }

// stepOf returns the distance between consecutive numbers; 0 if they differ or there are fewer than two numbers.
func stepOf(numbers []int) int {
	if len(numbers) < 2 {
		return 0
	}
	step := numbers[1] - numbers[0]
	for i := 2; i < len(numbers); i++ {
		if numbers[i]-numbers[i-1] != step {
			return 0
		}
	}
	return step
}

// splitRuns splits sorted numbers into groups of consecutive numbers.
func splitRuns(numbers []int) (all [][]int) {
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1]+1 {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], n)
	}
	return all
}

// inCircle returns the first and last member of a set that is one group of consecutive numbers, where 1 follows size,
// as in months. ok is false if the set is no such group, or has fewer than three members.
func inCircle(s set, size int) (from, to int, ok bool) {
	all := splitRuns(s.members())
	count := len(s.members())
	switch {
	case count < 3:
	case len(all) == 1:
		return all[0][0], all[0][count-1], true
	case len(all) == 2 && s.has(1) && s.has(size):
		return all[1][0], all[0][len(all[0])-1], true
	}
	return 0, 0, false
}

// weekOrder converts a set of days of the week to Monday as 1 and Sunday as 7, the order in which people list them.
func weekOrder(s set) (days set) {
	for _, day := range s.members() {
		days.add((day+5)%7 + 1)
	}
	return days
}
