// Where there is nothing yet: the built-in example, by one button or by curl.
import { html, useEffect } from '../lib/html.js'
import { useResource } from '../lib/resource.js'
import { go } from '../lib/router.js'
import { may, mayAny } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { link } from '../routes.js'
import { ActButton } from './act.js'
import { Curl } from './curl.js'
import { jobRequest } from './jobacts.js'
import { Empty } from './notice.js'

const t = texts(
  {
    title: 'No jobs yet', apps: 'No apps yet', what: 'A job says when an app runs, and in how many shards. An app is a package, any tar or zip, with a script that starts one shard of the work.',
    try: 'The built-in example is such a package: publish it, register a job that runs it every few seconds, and see how it goes.', whatImage: 'A job says when an app runs, and in how many shards. An app is an image, a package, or both, with a script that starts one shard of the work.', tryImage: 'The built-in example is a line of shell: publish it, register a job that runs it every few seconds, and see how it goes.', button: 'Publish and run the example', done: 'The example is there and runs',
    own: 'Or begin with your own:', publish: 'publish an app', register: 'register a job', curl: 'The same with curl:', none: 'Whoever may publish apps can register jobs here.',
  },
  {
    title: '还没有作业', apps: '还没有应用', what: '作业规定应用何时运行、分成多少个分片。应用是一个应用包（任意 tar 或 zip），其中的脚本启动一个分片的工作。',
    try: '内置示例就是这样的应用包：发布它，注册一个每隔几秒运行一次的作业，看看效果。', whatImage: '作业规定应用何时运行、分成多少个分片。应用是一个镜像、一个应用包或两者兼有，其中的脚本启动一个分片的工作。', tryImage: '内置示例只是一行 shell：发布它，注册一个每隔几秒运行一次的作业，看看效果。', button: '发布并运行示例', done: '示例已就绪并开始运行',
    own: '或者从自己的开始：', publish: '发布应用', register: '注册作业', curl: '用 curl 完成同样的操作：', none: '有发布权限的人可以在这里注册作业。',
  },
)

/**
 * FirstSteps says what would be here, and how to have it.
 * @param {{of?: 'jobs' | 'apps', onReady?: () => void}} props onReady is called when all of it is there
 */
export function FirstSteps({ of = 'jobs', onReady }) {
  const admin = may('admin', 'example')
  const example = useResource(admin ? '/api/example' : null)
  const apps = useResource(admin ? '/api/app/list' : null)
  const { app, jobs = [] } = example.data ?? {}
  const ready = !example.loading && !apps.loading
  useEffect(() => void (ready && onReady?.()), [ready])
  const published = apps.data?.some((/** @type {any} */ a) => a.appName === app?.appName)
  /** @type {import('../lib/api.js').Request[]} */
  const requests = !app || !apps.data ? [] : [
    ...(published ? [] : [{ method: 'POST', path: '/api/app', body: app }]),
    ...jobs.flatMap((/** @type {any} */ job) => [{ method: 'POST', path: '/api/job/register', body: job }, jobRequest(job.jobName, 'trigger')]),
  ]
  return html`<${Empty} title=${t(of === 'apps' ? 'apps' : 'title')}>
    <p>${t(app?.image ? 'whatImage' : 'what')}</p>
    ${requests.length > 0 && html`<p>${t(app.image ? 'tryImage' : 'try')}</p>
      <${ActButton} label=${t('button')} icon="play" main noCurl requests=${requests} done=${t('done')} then=${() => go(link.job(jobs[0].jobName))} />
      <p class="muted">${t('curl')}</p><div class="wide"><${Curl} requests=${requests} /></div>`}
    ${mayAny('admin') ? html`<p>${t('own')} <a href="/apps/new">${t('publish')}</a>, <a href="/jobs/new">${t('register')}</a></p>` : html`<p>${t('none')}</p>`}
  </${Empty}>`
}
