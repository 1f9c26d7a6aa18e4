// Requests a reconciliation with the cluster.
import { html, useEffect, useState } from '../lib/html.js'
import { call } from '../lib/api.js'
import { texts } from '../lib/texts.js'
import { useBusy } from './act.js'
import { Curl } from './curl.js'
import { Dialog } from './dialog.js'
import { toast } from './toast.js'

const t = texts(
  {
    explicit: 'Reconcile', implicit: 'Reconcile all (implicit)', explicitHelp: 'Asks the cluster about every task that is known here', implicitHelp: 'Asks the cluster for all tasks of this framework that it knows', done: 'Requested. Differences are corrected as the answers arrive.', again: 'Again in {n} s',
    curl: 'Show the curl line', same: 'The same with curl', failed: 'Reconcile: {why}',
  },
  {
    explicit: '与集群对账', implicit: '与集群对账（全量）', explicitHelp: '向集群查询此处已知的每个任务', implicitHelp: '向集群查询其已知的本框架的所有任务', done: '已发出查询，收到答复后会修正差异。', again: '{n} 秒后可再次对账',
    curl: '显示 curl 命令', same: '用 curl 完成同样的操作', failed: '对账：{why}',
  },
)

/** @param {'explicit' | 'implicit'} kind */
const request = (kind) => ({ method: 'POST', path: `/api/operate/reconcile/${kind}` })

/** Reconcile shows a button for each kind of reconciliation. If the server refuses a request as too early, it shows the time to wait. */
export function Reconcile() {
  const [until, setUntil] = useState(0)
  const [, tick] = useState(0)
  const [busy, run] = useBusy()
  const [curl, setCurl] = useState(false)
  const left = Math.ceil((until - Date.now()) / 1000)
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => tick((n) => n + 1), 500)
    return () => clearTimeout(timer)
  })
  const ask = (/** @type {'explicit' | 'implicit'} */ kind) => run(async () => {
    try {
      await call(request(kind))
      toast(t('done'))
    } catch (e) {
      const error = /** @type {import('../lib/api.js').ApiError} */ (e)
      if (error.status !== 429) return toast(t('failed', { why: error.message }), { error: true })
      setUntil(Date.now() + 1000 * (error.retryAfter || 10))
    }
  })
  return html`<span class="row">
    ${left > 0 && html`<span class="muted" role="status">${t('again', { n: left })}</span>`}
    <button type="button" class="button" title=${t('explicitHelp')} disabled=${busy || left > 0} onClick=${() => ask('explicit')}>${busy && html`<span class="busy"></span>`}${t('explicit')}</button>
    <button type="button" class="button" title=${t('implicitHelp')} disabled=${busy || left > 0} onClick=${() => ask('implicit')}>${t('implicit')}</button>
    <button type="button" class="button plain icon" title=${t('curl')} aria-label=${t('curl')} onClick=${() => setCurl(true)}><span class="mono" aria-hidden="true">$_</span></button>
    ${curl && html`<${Dialog} title=${t('same')} wide onClose=${() => setCurl(false)}><${Curl} requests=${[request('explicit'), request('implicit')]} /></${Dialog}>`}
  </span>`
}
