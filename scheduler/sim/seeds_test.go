//go:build !race

package sim

// defaultSeeds is how many worlds an ordinary test run plays.
const defaultSeeds = 1000
