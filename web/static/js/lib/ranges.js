// Summarizes lists of numbers.

/**
 * ranges formats 0, 1, 2, 5 as 0–2, 5. Of many ranges it names only the first, and … stands for the others.
 * @param {number[]} numbers
 * @param {number} [most]
 */
export function ranges(numbers, most = 6) {
  /** @type {[from: number, to: number][]} */
  const stretches = []
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = stretches.at(-1)
    if (last && last[1] === n - 1) last[1] = n
    else stretches.push([n, n])
  }
  const words = stretches.slice(0, most).map(([a, b]) => (a === b ? String(a) : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`))
  return words.join(', ') + (stretches.length > most ? ', …' : '')
}

/**
 * quantile returns the value that a share of the values does not exceed, or null without values. Like the server's, it is one of
 * the values.
 * @param {number[]} values
 * @param {number} share
 */
export function quantile(values, share) {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

/**
 * groupBy groups elements by their keys. The groups are in the order of their first elements.
 * @template T
 * @param {T[]} all
 * @param {(one: T) => string} key
 * @returns {T[][]}
 */
export function groupBy(all, key) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const one of all) {
    const k = key(one)
    const group = groups.get(k)
    if (group) group.push(one)
    else groups.set(k, [one])
  }
  return [...groups.values()]
}
