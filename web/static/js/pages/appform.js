// The form to publish or edit an app.
import { html, useState } from '../lib/html.js'
import { seg, withQuery } from '../lib/api.js'
import { duration } from '../lib/format.js'
import { limits } from '../lib/limits.js'
import { useResource } from '../lib/resource.js'
import { useTakesImages } from '../lib/takes.js'
import { may, mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { Page } from '../frame/page.js'
import { DocForm } from '../pieces/docform.js'
import { Check, Choice, Group, NumberField, Text } from '../pieces/field.js'
import { Names, Tree } from '../pieces/nestedfield.js'
import { Loaded, NotAllowed } from '../pieces/notice.js'
import { PackageCheck } from '../pieces/package.js'
import { link } from '../routes.js'

const t = texts(
  {
    apps: 'Apps', publish: 'Publish an app', publishDo: 'Publish', edit: 'Edit {name}', what: 'General', pack: 'Package', executor: 'Executor', name: 'Name', nameHelp: '1 to {n} letters, digits, “.”, “_” or “-”. It never changes.',
    url: 'Address of the package', urlHelp: 'A tar or zip, plain or compressed, or one script, that the agents fetch by http or https; on a single machine file:///… does.', script: 'Script', scriptHelp: 'What runs one shard, with its arguments; in the package’s folder.', sha: 'SHA-256', shaHelp: 'Optional: only a package with this checksum is run. The check returns it.',
    cpu: 'CPU', memory: 'Memory', memoryUnit: 'MB', oncePerAgent: 'For the app’s executor, once per agent, in addition to its shards.', cache: 'Keep the package on the agents', cacheHelp: 'The address is checked for changes at most every {often}. Otherwise each run of a shard fetches it.', sampling: 'Sampling of daemons', samplingHelp: 'One in this many runs of daemons is written to the history; 0: all.',
    container: 'Container', image: 'Image', imageHelp: 'The image that the shards run in. Empty: the scheduler’s own small image. With an image a package is not needed.', pull: 'Pull policy', pullPreset: 'Default: always for the tag latest, otherwise if not present', always: 'Always', ifNotPresent: 'If not present', never: 'Never',
    pullSecrets: 'Secrets to pull with', pullSecretsHelp: 'Names of Secrets in the namespace of the jobs, with commas between them.', template: 'Pod template', templateHelp: 'Further fields of the pods: metadata and spec of a PodTemplateSpec as JSON, merged as kubectl merges patches. The job’s container is named shard.', urlOr: 'An app with an image needs none. A tar or zip, plain or compressed, or one script, that the pods fetch by http or https.',
    checked: 'Check the package when saving', checkedHelp: 'A package that can’t be fetched, or lacks the script, is not published. Untick it for addresses that only the agents reach.', checkedHelpPods: 'A package that can’t be fetched, or lacks the script, is not published. Untick it for addresses that only pods reach.', daemons: 'Daemons',
  },
  {
    apps: '应用', publish: '发布应用', publishDo: '发布', edit: '编辑 {name}', what: '基本信息', pack: '应用包', executor: '执行器', name: '名称', nameHelp: '1 至 {n} 个字母、数字、“.”、“_”或“-”，发布后不可更改。',
    url: '应用包地址', urlHelp: 'tar、zip（可压缩）或单个脚本，Agent 通过 http 或 https 下载；单机时可用 file:///…。', script: '启动脚本', scriptHelp: '运行一个分片的命令及参数，在应用包目录中执行。', sha: 'SHA-256', shaHelp: '可选：只运行此校验和的应用包。可由检查得到。',
    cpu: 'CPU', memory: '内存', memoryUnit: 'MB', oncePerAgent: '应用的执行器在每个 Agent 上占用一份，分片另计。', cache: '在 Agent 上保留应用包', cacheHelp: '最多每 {often}询问一次地址是否有更新；否则每次运行分片都重新下载。', sampling: '常驻作业采样', samplingHelp: '常驻作业每多少次运行记录一次到历史；0 表示全部。',
    container: '容器', image: '镜像', imageHelp: '分片在其中运行。留空则使用调度器自带的小镜像；有镜像时可以没有应用包。', pull: '何时拉取', pullPreset: '按惯例：标签为 latest 时总是拉取，否则本地没有时拉取', always: '总是', ifNotPresent: '本地没有时', never: '从不',
    pullSecrets: '拉取所用的 Secret', pullSecretsHelp: '作业所在命名空间中 Secret 的名称，以逗号分隔。', template: 'Pod 模板', templateHelp: 'Pod 的其余内容：PodTemplateSpec 的 metadata 与 spec（JSON），按 kubectl 的补丁方式合并。作业的容器名为 shard。', urlOr: '有镜像时可以留空。tar、zip（可压缩）或单个脚本，Pod 通过 http 或 https 下载。',
    checked: '保存时检查应用包', checkedHelp: '无法下载或缺少脚本的应用包不会发布。若地址只有 Agent 能访问，请取消勾选。', checkedHelpPods: '无法下载或缺少脚本的应用包不会发布。若地址只有 Pod 能访问，请取消勾选。', daemons: '常驻作业',
  },
)

const first = { appName: '', appURL: '', bootstrapScript: '', cpuCount: 0.1, memoryMB: 64 }

/** @param {{app?: string}} props */
export default function AppForm({ app }) {
  const stored = useResource(app ? `/api/app/${seg(app)}` : null, { on: (c) => app !== undefined && c.apps.includes(app), every: app ? 5000 : undefined })
  const [checks, setChecks] = useState(true)
  const images = useTakesImages()
  const title = app ? t('edit', { name: app }) : t('publish')
  const crumbs = [{ to: '/apps', text: t('apps') }, ...(app ? [{ to: link.app(app), text: app }] : [])]
  const begin = app ? stored.data : first
  const request = (/** @type {any} */ body, /** @type {boolean} */ update) => ({ method: update ? 'PUT' : 'POST', path: withQuery('/api/app', { check: checks }), body })
  const packaged = (/** @type {any} */ doc) => Boolean(doc.appURL) || !(images && doc.image)
  const allowed = app ? may('admin', app) : mayAny('admin')
  return html`<${Page} title=${title} crumbs=${crumbs}>
    ${!allowed ? html`<${NotAllowed} />` : !begin ? html`<${Loaded} of=${stored}>${() => null}</${Loaded}>` : html`<${DocForm} key=${app} first=${begin} stored=${app ? stored : undefined} nameField="appName" saveLabel=${t('publishDo')} back=${app ? link.app(app) : '/apps'} to=${link.app} request=${request} side=${(/** @type {any} */ doc) => packaged(doc) && html`<${PackageCheck} />`}>${(/** @type {any} */ doc) => html`
      <${Group} title=${t('what')}>
        <${Text} needed name="appName" keep label=${t('name')} help=${t('nameHelp', { n: limits.name })} readOnly=${app !== undefined} />
      </${Group}>
      <${Group} title=${t('pack')}>
        <${Text} wide mono keep=${!images} needed=${!images} name="appURL" label=${t('url')} help=${t(images ? 'urlOr' : 'urlHelp')} placeholder="https://example.com/my-job-1.2.tar.gz" />
        <${Text} wide mono keep needed name="bootstrapScript" label=${t('script')} help=${t('scriptHelp')} placeholder="bin/start.sh" />
        <${Text} wide mono name="appSHA256" label=${t('sha')} help=${t('shaHelp')} />
        ${!images && html`<div class="over"><${Check} name="appCacheEnable" preset label=${t('cache')} help=${t('cacheHelp', { often: duration(limits.packageCheck) })} /></div>`}
        ${packaged(doc) && html`<div class="over field"><label class="check"><input type="checkbox" checked=${checks} onChange=${(/** @type {any} */ e) => setChecks(e.target.checked)} />${t('checked')}</label><div class="help">${t(images ? 'checkedHelpPods' : 'checkedHelp')}</div></div>`}
      </${Group}>
      ${images && html`<${Group} title=${t('container')}>
        <${Text} wide mono name="image" label=${t('image')} help=${t('imageHelp')} placeholder="registry.example/my-job:1.2" />
        <${Choice} name="imagePullPolicy" label=${t('pull')} options=${[{ value: '', label: t('pullPreset') }, { value: 'Always', label: t('always') }, { value: 'IfNotPresent', label: t('ifNotPresent') }, { value: 'Never', label: t('never') }]} />
        <${Names} name="imagePullSecrets" label=${t('pullSecrets')} help=${t('pullSecretsHelp')} />
        <${Tree} wide name="podTemplate" label=${t('template')} help=${t('templateHelp')} placeholder=${'{\n  "spec": { "nodeSelector": { "disk": "ssd" } }\n}'} />
      </${Group}>`}
      <${Group} title=${t(images ? 'daemons' : 'executor')}>
        ${!images && html`<${NumberField} name="cpuCount" label=${t('cpu')} help=${t('oncePerAgent')} preset=${1} /><${NumberField} name="memoryMB" label=${t('memory')} help=${t('oncePerAgent')} preset=${128} unit=${t('memoryUnit')} />`}
        <${NumberField} name="eventTraceSamplingCount" label=${t('sampling')} help=${t('samplingHelp')} preset=${0} />
      </${Group}>`}</${DocForm}>`}
  </${Page}>`
}
