// Documents in the registry that cannot be used, and what to do about them.
import { html } from '../lib/html.js'
import { reasonOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { texts } from '../lib/texts.js'
import { link } from '../routes.js'
import { Loaded } from './notice.js'
import { Table } from './table.js'
import { Time } from './time.js'

const t = texts(
  {
    title: 'Faulty documents', none: 'Every document in the registry can be used.', help: 'These documents were edited externally, or the permission to read them was removed. Correct each in the registry, restore the permission (ZooKeeper: setAcl), register it again, or deregister it; a corrected one is used at once.',
    path: 'Path', kind: 'Kind', name: 'Name', reason: 'Reason', since: 'Since', force: 'In force', lastGood: 'the last valid version', nothing: 'none: waiting runs keep waiting',
  },
  {
    title: '有误的配置', none: '注册中心的所有配置都可用。', help: '这些配置由外部修改，或读取权限被收回。请在注册中心更正、恢复权限（ZooKeeper：setAcl）、重新注册，或注销；更正后立即生效。',
    path: '路径', kind: '类型', name: '名称', reason: '原因', since: '开始时间', force: '当前生效', lastGood: '最近一份正确的配置', nothing: '无：等待中的继续等待',
  },
)

/** @typedef {{path: string, kind: string, name: string, reason: string, since: string, lastGood: boolean}} Document */

/** Faulty lists these documents, at the anchor #faulty. */
export function Faulty() {
  const faulty = useResource('/api/operate/faulty', { on: (c) => c.cluster || c.apps.length > 0, every: 30_000 })
  return html`<section class="stack" id="faulty" aria-label=${t('title')}>
    <h2>${t('title')}</h2>
    <${Loaded} of=${faulty}>${(/** @type {Document[]} */ rows) => rows.length === 0
      ? html`<p class="muted">${t('none')}</p>`
      : html`<p class="muted">${t('help')}</p>
        <${Table} label=${t('title')} rows=${rows} id=${(/** @type {Document} */ d) => d.path} columns=${[
          { key: 'name', label: t('name'), cell: (/** @type {Document} */ d) => html`<a href=${d.kind === 'app' ? link.app(d.name) : link.job(d.name)}>${d.name}</a>`, title: (/** @type {Document} */ d) => d.name },
          { key: 'kind', label: t('kind'), cell: (/** @type {Document} */ d) => d.kind },
          { key: 'reason', label: t('reason'), cell: reasonOf },
          { key: 'force', label: t('force'), cell: (/** @type {Document} */ d) => t(d.lastGood ? 'lastGood' : 'nothing') },
          { key: 'since', label: t('since'), cell: (/** @type {Document} */ d) => html`<${Time} at=${d.since} />` },
          { key: 'path', label: t('path'), cell: (/** @type {Document} */ d) => html`<span class="mono">${d.path}</span>`, title: (/** @type {Document} */ d) => d.path },
        ]} />`}</${Loaded}>
  </section>`
}
