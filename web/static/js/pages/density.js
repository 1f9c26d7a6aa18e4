// The number of fires in each minute of the next hour.
import { html } from '../lib/html.js'
import { number } from '../lib/format.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { moment } from '../lib/format.js'
import { useZone } from '../lib/zone.js'

const t = texts(
  { title: 'Fires in the next hour', total: '{fires|fire|fires} of {shards|shard|shards}', at: '{time}: {fires|fire|fires}, {shards|shard|shards}', none: 'No cron fires in the next hour.', most: '{total}, at most {n} a minute' },
  { title: '未来一小时的触发', total: '{fires} 次触发，{shards} 个分片', at: '{time}：{fires} 次触发，{shards} 个分片', none: '未来一小时没有 cron 触发。', most: '{total}，每分钟最多 {n} 次' },
)

/** Density is a strip of 60 bars. */
export function Density() {
  const { data } = useResource('/api/overview/fires', { every: 30_000 })
  const zone = useZone()
  const most = Math.max(1, ...(data?.fires ?? []))
  const sum = (/** @type {number[]} */ of) => of.reduce((a, b) => a + b, 0)
  const time = (/** @type {number} */ i) => moment(new Date(data.from).getTime() + i * 60_000, zone, { seconds: false }).slice(11)
  return html`<section class="box" style=${{ minHeight: '132px' }}><h2>${t('title')}</h2>
    ${data && (sum(data.fires) === 0 ? html`<p class="muted">${t('none')}</p>` : html`
      <div class="density" role="img" aria-label=${`${t('title')}: ${t('total', { fires: sum(data.fires), shards: sum(data.shards) })}`}>
        ${data.fires.map((/** @type {number} */ n, /** @type {number} */ i) => html`<span key=${i} class=${n ? '' : 'none'} style=${{ height: n ? `${Math.max(4, (100 * n) / most)}%` : '1px' }} title=${t('at', { time: time(i), fires: n, shards: data.shards[i] })}></span>`)}
      </div>
      <div class="density-scale"><span class="nowrap">${time(0)}</span><span>${t('most', { total: t('total', { fires: sum(data.fires), shards: sum(data.shards) }), n: number(most) })}</span><span class="nowrap">${time(59)}</span></div>`)}
  </section>`
}
