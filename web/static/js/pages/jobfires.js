// The next fires of a job, in the zone that the user chooses.
import { html, useRef } from '../lib/html.js'
import { withQuery } from '../lib/api.js'
import { moment } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { useSignal } from '../lib/signal.js'
import { language, zone } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { serverZone, useZone } from '../lib/zone.js'
import { Time } from '../pieces/time.js'

const t = texts(
  { title: 'Next fires', zones: 'Time zone', mine: 'My zone', job: 'The job’s ({zone})', utc: 'UTC', none: 'No cron: it runs when it is triggered.', held: 'While it is {state}, it does not fire.', never: 'It never fires again.', disabled: 'disabled', paused: 'paused', shutting: 'shutting down', server: 'the server’s' },
  { title: '接下来的触发', zones: '时区', mine: '本地时区', job: '作业时区（{zone}）', utc: 'UTC', none: '没有 cron：仅在手动触发时运行。', held: '作业{state}，期间不会触发。', never: '不会再触发。', disabled: '已禁用', paused: '已暂停', shutting: '将在运行完后禁用', server: '调度器' },
)

/** @type {Record<string, 'disabled' | 'paused' | 'shutting'>} */
const held = { DISABLED: 'disabled', APP_DISABLED: 'disabled', PAUSED: 'paused', SHUTTING_DOWN: 'shutting' }

/** @param {{doc: any, explain: any}} props */
export function NextFires({ doc, explain }) {
  const choice = useSignal(zone)
  const shown = useZone(doc.timeZone)
  const server = useSignal(serverZone)
  const speech = useSignal(language)
  const due = useRef(Infinity) // when the list must be read again
  const first = explain.nextFires[0] ?? ''
  const cron = useResource(doc.cron ? withQuery('/api/cron', { cron: doc.cron, timeZone: doc.timeZone, count: 10, language: speech }) : null, { on: () => due.current < Date.now(), every: 60_000 })
  due.current = cron.data?.nextFires[0] ? new Date(cron.data.nextFires[0].time).getTime() : Infinity
  const all = cron.data?.nextFires ?? explain.nextFires.map((/** @type {string} */ time) => ({ time, note: '' }))
  const now = new Date().toISOString()
  const fires = all.filter((/** @type {any} */ f) => new Date(f.time).toISOString() > now || f.time === first)
  return html`<section class="box" style=${{ minHeight: '244px' }}>
    <div class="row spread"><h2>${t('title')}</h2><div class="segments" role="group" aria-label=${t('zones')}>
      ${/** @type {const} */ (['mine', 'job', 'utc']).map((z) => html`<button key=${z} type="button" aria-pressed=${choice === z} onClick=${() => zone.set(z)}>${t(z, { zone: doc.timeZone || server || t('server') })}</button>`)}
    </div></div>
    ${doc.cron ? html`<p class="row"><code>${doc.cron}</code>${cron.data && html`<span>${cron.data.words}</span>`}</p>` : html`<p class="muted">${t('none')}</p>`}
    ${(cron.data?.notes ?? []).map((/** @type {string} */ n) => html`<p key=${n} class="small muted">${n}</p>`)}
    ${held[explain.state] && doc.cron && html`<p class="small held">${t('held', { state: t(held[explain.state]) })}</p>`}
    ${doc.cron && cron.data && fires.length === 0 && html`<p class="muted">${t('never')}</p>`}
    <ol class=${`fire-list${held[explain.state] ? ' muted' : ''}`}>${fires.map((/** @type {any} */ f) => html`<li key=${f.time}><span class="nowrap">${moment(f.time, shown, { zoneName: true })}</span>${new Date(f.time).getTime() - Date.now() < 86_400_000 && html`<span class="small muted"><${Time} at=${f.time} jobZone=${doc.timeZone} /></span>`}${f.note && html`<span class="small held">${f.note}</span>`}</li>`)}</ol>
  </section>`
}
