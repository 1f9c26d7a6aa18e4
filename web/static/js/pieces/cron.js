// A cron in words, and its next fires in the zones of the job and of the browser.
import { html, useEffect, useState } from '../lib/html.js'
import { withQuery } from '../lib/api.js'
import { moment } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { language } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Icon } from './icon.js'

const t = texts(
  { fires: 'Next fires', there: 'In {zone}', mine: 'In my zone ({zone})', none: 'It never fires again.', fromServer: 'the server’s zone' },
  { fires: '接下来的触发时间', there: '{zone}', mine: '本地时区（{zone}）', none: '不会再触发。', fromServer: '调度器时区' },
)

/** @typedef {{cron: string, timeZone: string, words: string, nextFires: {time: string, local: string, note: string}[], notes: string[]}} CronView */

/**
 * useDelayed returns a value once it has not changed for ms milliseconds, and until then the previous one.
 * @template T
 * @param {T} value
 * @param {number} ms
 */
export function useDelayed(value, ms) {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(() => value), ms)
    return () => clearTimeout(timer)
  }, [value])
  return late
}

/**
 * CronSays explains a cron while the user types it. It shows nothing for an invalid cron, whose error is at the field.
 * @param {{cron: string, timeZone?: string}} props
 */
export function CronSays({ cron, timeZone = '' }) {
  const asked = useDelayed(cron.trim() ? withQuery('/api/cron', { cron, timeZone, count: 10, language: language.get() }) : null, 200)
  /** @type {import('../lib/resource.js').Resource<CronView>} */
  const said = useResource(cron.trim() ? asked : null, { stay: true, every: 60_000 })
  if (!cron.trim() || !said.data || said.error) return null
  return html`<${CronFires} view=${said.data} />`
}

/**
 * CronFires shows the answer to GET /api/cron.
 * @param {{view: CronView}} props
 */
export function CronFires({ view }) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const two = own !== view.timeZone
  const there = (/** @type {string} */ local) => `${local.slice(0, 19).replace('T', ' ')} ${local.slice(19).replace(/^\.\d+/, '').replace('Z', '+00:00')}`
  return html`<div class="cron-says" aria-live="polite">
    <p><strong>${view.words}</strong></p>
    ${view.notes.map((n) => html`<p key=${n} class="small muted">${n}</p>`)}
    ${view.nextFires.length === 0
      ? html`<p class="warn"><${Icon} name="warning" size=${14} /> ${t('none')}</p>`
      : html`<table class="fires" aria-label=${t('fires')}>
          <thead><tr><th scope="col">${t('there', { zone: view.timeZone || t('fromServer') })}</th>${two && html`<th scope="col">${t('mine', { zone: own })}</th>`}</tr></thead>
          <tbody>${view.nextFires.map((f) => html`<tr key=${f.time}><td>${there(f.local)}${f.note && html`<span class="warn"><${Icon} name="warning" size=${12} /> ${f.note}</span>`}</td>${two && html`<td>${moment(f.time, '')}</td>`}</tr>`)}</tbody>
        </table>`}
  </div>`
}
