// Merges the lines of several outputs by time.
import { plain } from './ansi.js'

/** @typedef {import('./output.js').Line} Line */
/** @typedef {{id: string, source: number, line: Line, time: number, said: boolean}} Merged a line and when it was written; `said` is set if the line itself contains the time */

const stamp = /(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|[+-]\d\d:?\d\d))?/

/** @type {WeakMap<Line, number>} */
const times = new WeakMap()

/**
 * timeOf returns the time that a line contains, in milliseconds, or NaN if it contains none. A time without a zone counts as UTC.
 * @param {Line} line
 */
export function timeOf(line) {
  let time = times.get(line)
  if (time === undefined) {
    const m = stamp.exec(plain(line.text.slice(0, 120)).slice(0, 64))
    time = NaN
    if (m) {
      const zone = m[8] && m[8] !== 'Z' ? (m[8][0] === '-' ? -1 : 1) * (Number(m[8].slice(1, 3)) * 60 + Number(m[8].slice(-2))) : 0
      time = Date.UTC(+m[1], +m[2] - 1, +m[3], +m[4], +m[5], +m[6]) + Number(`0.${m[7] ?? 0}`) * 1000 - zone * 60_000
    }
    times.set(line, time)
  }
  return time
}

/**
 * merged sorts lines by time. A line without a time follows the previous line of its output. If no earlier line of its output has
 * a time, it is sorted by the time at which it arrived here.
 * @param {{key: number, lines: Line[]}[]} outputs
 * @param {number} most the maximum number of lines; the newest are returned
 * @returns {{lines: Merged[], silent: number[]}} the lines, and the outputs whose lines contain no times
 */
export function merged(outputs, most = 100_000) {
  /** @type {Merged[]} */
  const all = []
  /** @type {number[]} */
  const silent = []
  for (const { key, lines } of outputs) {
    let last = NaN
    let any = false
    for (const line of lines) {
      const time = timeOf(line)
      const said = !Number.isNaN(time)
      if (said) last = Number.isNaN(last) ? time : Math.max(last, time) // keeps the order of lines within an output
      any ||= said
      all.push({ id: `${key}:${line.at}`, source: key, line, time: Number.isNaN(last) ? line.arrived : last, said })
    }
    if (!any && lines.length) silent.push(key)
  }
  all.sort((a, b) => a.time - b.time) // stable: lines with the same time keep the order of their output
  return { lines: all.length > most ? all.slice(-most) : all, silent }
}

/**
 * inLots splits lines into lots of 100, the form in which Lines takes them.
 * @template L
 * @param {L[]} lines
 */
export function inLots(lines) {
  const lots = []
  for (let i = 0; i < lines.length; i += 100) lots.push({ key: i, lines: lines.slice(i, i + 100) })
  return lots
}
