import { html } from '../lib/html.js'
import { useNow } from '../lib/clock.js'
import { ago, duration, moment } from '../lib/format.js'
import { useZone } from '../lib/zone.js'

/**
 * Time shows a time. Up to a day it is relative, and its title is the absolute time with the zone. With `exact` it is always absolute.
 * @param {{at: string | number | null | undefined, jobZone?: string, exact?: boolean, none?: string}} props
 */
export function Time({ at, jobZone, exact, none = '–' }) {
  const zone = useZone(jobZone)
  if (at == null || at === '') return html`<span class="muted">${none}</span>`
  const title = moment(at, zone, { zoneName: true, millis: true })
  const iso = new Date(at).toISOString()
  if (exact) return html`<time datetime=${iso} title=${title} class="nowrap">${moment(at, zone)}</time>`
  return html`<${Ago} at=${new Date(at).getTime()} iso=${iso} title=${title} text=${moment(at, zone)} />`
}

/** @param {{at: number, iso: string, title: string, text: string}} props */
function Ago({ at, iso, title, text }) {
  const now = useNow()
  return html`<time datetime=${iso} title=${title} class="nowrap">${Math.abs(now - at) < 86_400_000 ? ago(at, now) : text}</time>`
}

/**
 * Since shows for how long something has lasted so far.
 * @param {{at: string | number | null | undefined}} props
 */
export function Since({ at }) {
  const now = useNow()
  return at == null ? html`<span class="muted">–</span>` : html`<span class="nowrap">${duration(Math.floor((now - new Date(at).getTime()) / 1000) * 1000)}</span>`
}
