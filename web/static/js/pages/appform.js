// An app, to be published or edited.
import { html, useState } from '../lib/html.js'
import { seg, withQuery } from '../lib/api.js'
import { useResource } from '../lib/resource.js'
import { may, mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { DocForm } from '../pieces/docform.js'
import { Check, Group, NumberField, Text } from '../pieces/field.js'
import { Loaded, NotAllowed } from '../pieces/notice.js'
import { PackageCheck } from '../pieces/package.js'
import { link } from '../routes.js'

const t = texts(
  {
    apps: 'Apps', publish: 'Publish an app', publishDo: 'Publish', edit: 'Edit {name}', what: 'What', pack: 'Package', executor: 'Executor', name: 'Name', nameHelp: '1 to 100 letters, digits, “.”, “_” or “-”. It never changes.',
    url: 'Address of the package', urlHelp: 'A tar or zip, plain or compressed, or one script, that the agents fetch by http or https; on a single machine file:///… does.', script: 'Script', scriptHelp: 'What runs one shard, with its arguments; in the package’s folder.', sha: 'SHA-256', shaHelp: 'Optional: no other package is run. The check gives it.',
    cpu: 'CPU', memory: 'Memory', memoryUnit: 'MB', oncePerAgent: 'Of the app’s executor, once per agent; shards come on top.', cache: 'Keep the package on the agents', cacheHelp: 'Its address is asked for new bytes at most every 30 s. Else each run of a shard fetches it.', sampling: 'Sampling of daemons', samplingHelp: 'Of so many runs of daemons one is written to the history one by one; 0: all.',
    checked: 'Check the package when saving', checkedHelp: 'What can’t be fetched, or has no such script, is not published. Untick it for addresses that only the agents reach.',
  },
  {
    apps: '应用', publish: '发布应用', publishDo: '发布', edit: '编辑 {name}', what: '内容', pack: '安装包', executor: '执行器', name: '名称', nameHelp: '1 至 100 个字母、数字、“.”、“_”或“-”，发布后不可更改。',
    url: '安装包地址', urlHelp: 'tar、zip（可压缩）或单个脚本，代理通过 http 或 https 下载；单机时可用 file:///…。', script: '启动脚本', scriptHelp: '运行一个分片的命令及参数，在安装包目录中执行。', sha: 'SHA-256', shaHelp: '可选：只运行此校验和的安装包。可由检查得到。',
    cpu: 'CPU', memory: '内存', memoryUnit: 'MB', oncePerAgent: '应用的执行器在每个代理上占用一份，分片另计。', cache: '在代理上保留安装包', cacheHelp: '最多每 30 秒询问一次地址是否有更新；否则每次运行分片都重新下载。', sampling: '常驻作业采样', samplingHelp: '常驻作业每多少次运行记录一次到历史；0 表示全部。',
    checked: '保存时检查安装包', checkedHelp: '无法下载或缺少脚本的安装包不会发布。若地址只有代理能访问，请取消勾选。',
  },
)

const first = { appName: '', appURL: '', bootstrapScript: '', cpuCount: 0.1, memoryMB: 64 }

/** @param {{app?: string}} props */
export default function AppForm({ app }) {
  const stored = useResource(app ? `/api/app/${seg(app)}` : null, { on: (c) => app !== undefined && c.apps.includes(app), every: app ? 5000 : undefined })
  const [checks, setChecks] = useState(true)
  const title = app ? t('edit', { name: app }) : t('publish')
  const crumbs = [{ to: '/apps', text: t('apps') }, ...(app ? [{ to: link.app(app), text: app }] : [])]
  const begin = app ? stored.data : first
  const request = (/** @type {any} */ body, /** @type {boolean} */ update) => ({ method: update ? 'PUT' : 'POST', path: withQuery('/api/app', { check: checks }), body })
  const allowed = app ? may('admin', app) : mayAny('admin')
  return html`<${Page} title=${title} crumbs=${crumbs}>
    ${!allowed ? html`<${NotAllowed} />` : !begin ? html`<${Loaded} of=${stored}>${() => null}</${Loaded}>` : html`<${DocForm} key=${app} first=${begin} stored=${app ? stored : undefined} nameField="appName" saveLabel=${t('publishDo')} back=${app ? link.app(app) : '/apps'} to=${link.app} request=${request} side=${() => html`<${PackageCheck} />`}>${() => html`
      <${Group} title=${t('what')}>
        <${Text} needed name="appName" keep label=${t('name')} help=${t('nameHelp')} readOnly=${app !== undefined} />
      </${Group}>
      <${Group} title=${t('pack')}>
        <${Text} wide mono keep needed name="appURL" label=${t('url')} help=${t('urlHelp')} placeholder="https://example.com/my-job-1.2.tar.gz" />
        <${Text} wide mono keep needed name="bootstrapScript" label=${t('script')} help=${t('scriptHelp')} placeholder="bin/start.sh" />
        <${Text} wide mono name="appSHA256" label=${t('sha')} help=${t('shaHelp')} />
        <div class="over"><${Check} name="appCacheEnable" preset label=${t('cache')} help=${t('cacheHelp')} /></div>
        <div class="over field"><label class="check"><input type="checkbox" checked=${checks} onChange=${(/** @type {any} */ e) => setChecks(e.target.checked)} />${t('checked')}</label><div class="help">${t('checkedHelp')}</div></div>
      </${Group}>
      <${Group} title=${t('executor')}>
        <${NumberField} name="cpuCount" label=${t('cpu')} help=${t('oncePerAgent')} preset=${1} /><${NumberField} name="memoryMB" label=${t('memory')} help=${t('oncePerAgent')} preset=${128} unit=${t('memoryUnit')} />
        <${NumberField} name="eventTraceSamplingCount" label=${t('sampling')} help=${t('samplingHelp')} preset=${0} />
      </${Group}>`}</${DocForm}>`}
  </${Page}>`
}
