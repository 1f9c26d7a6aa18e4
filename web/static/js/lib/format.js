// Formats numbers, durations, sizes and times for users.
import { language } from './store.js'
import { locale } from './texts.js'

/** @param {number | null | undefined} n */
export const number = (n) => (n == null ? '–' : n.toLocaleString(locale(), { maximumFractionDigits: 2 }))

/** @param {number | null | undefined} share from 0 to 1 */
export const percent = (share) => (share == null ? '–' : share.toLocaleString(locale(), { style: 'percent', maximumFractionDigits: share > 0.99 && share < 1 ? 2 : 1 }))

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes == null) return '–'
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let i = 0
  while (bytes >= 1024 && i < units.length - 1) {
    bytes /= 1024
    i++
  }
  return `${number(i && bytes < 100 ? Math.round(bytes * 10) / 10 : Math.round(bytes))} ${units[i]}`
}

/** @param {number | null | undefined} mb */
export const memory = (mb) => (mb == null ? '–' : size(mb * 1024 * 1024))

/**
 * duration formats milliseconds, such as 420 ms, 3.2 s, 4 min 10 s, 3 h 5 min, 2 d 4 h.
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms == null || Number.isNaN(ms)) return '–'
  const [d, h, min, s] = language.get() === 'zh' ? ['天', '小时', '分', '秒'] : ['d', 'h', 'min', 's']
  ms = Math.max(0, ms)
  if (ms < 1000) return language.get() === 'zh' ? `${Math.round(ms)} 毫秒` : `${Math.round(ms)} ms`
  if (ms < 59_950) return `${number(Math.round(ms / 100) / 10)} ${s}`
  const two = (/** @type {number} */ a, /** @type {string} */ ua, /** @type {number} */ b, /** @type {string} */ ub) => (b ? `${number(a)} ${ua} ${b} ${ub}` : `${number(a)} ${ua}`)
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return two(Math.floor(seconds / 60), min, seconds % 60, s)
  const minutes = Math.round(ms / 60_000)
  if (minutes < 1440) return two(Math.floor(minutes / 60), h, minutes % 60, min)
  const hours = Math.round(ms / 3_600_000)
  return two(Math.floor(hours / 24), d, hours % 24, h)
}

/**
 * ago formats a time relative to another one, such as "3 min ago" or "in 20 s".
 * @param {number} at
 * @param {number} now
 */
export function ago(at, now) {
  const ms = now - at
  const far = Math.abs(ms)
  const text = far < 1000 ? '' : duration(far < 60_000 ? Math.floor(far / 1000) * 1000 : far < 3_600_000 ? Math.floor(far / 60_000) * 60_000 : Math.floor(far / 3_600_000) * 3_600_000)
  if (language.get() === 'zh') return !text ? '刚刚' : ms > 0 ? `${text}前` : `${text}后`
  return !text ? 'now' : ms > 0 ? `${text} ago` : `in ${text}`
}

const formats = new Map()

/** @param {string} zone @param {Intl.DateTimeFormatOptions} options */
function formatter(zone, options) {
  const key = locale() + zone + JSON.stringify(options)
  if (!formats.has(key)) {
    try {
      formats.set(key, new Intl.DateTimeFormat(locale(), { ...options, timeZone: zone || undefined }))
    } catch {
      formats.set(key, new Intl.DateTimeFormat(locale(), { ...options, timeZone: 'UTC' })) // a zone that this browser does not know
    }
  }
  return formats.get(key)
}

/**
 * moment formats a time in a zone ('' for the browser's): 2026-05-01 12:00:00, with the zone's short name if zoneName is set.
 * @param {number | string} at
 * @param {string} zone
 * @param {{seconds?: boolean, millis?: boolean, zoneName?: boolean}} [how]
 */
export function moment(at, zone, { seconds = true, millis = false, zoneName = false } = {}) {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return '–'
  /** @type {Record<string, string>} */
  const p = Object.fromEntries(
    formatter(zone, { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', ...(zoneName ? { timeZoneName: 'short' } : {}) })
      .formatToParts(date)
      .map((/** @type {Intl.DateTimeFormatPart} */ x) => [x.type, x.value]),
  )
  let text = `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}`
  if (seconds) text += `:${p.second}`
  if (millis) text += `.${String(date.getMilliseconds()).padStart(3, '0')}`
  return zoneName ? `${text} ${p.timeZoneName}` : text
}

/**
 * momentIn returns in UTC the time that a clock in a zone ('' for the browser's) shows as 2026-05-01T12:00:00. It returns '' if the
 * text is not a time.
 * @param {string} typed
 * @param {string} zone
 */
export function momentIn(typed, zone) {
  let at = Date.parse(zone ? `${typed}Z` : typed)
  if (Number.isNaN(at)) return ''
  const wall = at
  const offset = () => Date.parse(`${moment(at, zone).replace(' ', 'T')}Z`) - at
  // The first offset is that of a time some hours off, possibly on the other side of a clock change. The second one is right.
  if (zone) for (let i = 0; i < 2; i++) at = wall - offset()
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
