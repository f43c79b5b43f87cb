"""Tokens of code hosts, package registries and builders."""

from muniment.secrets.rule import Rule, anywhere, named, token

_GITLAB = "glpat- gldt- glrt- glrtr- glptt- glft- glsoat- glcbt- glimt- glagent- gloas- glffct- GR1348941"

CODE: tuple[Rule, ...] = (
    token("github-token", "GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}"),
    token("github-pat", "GitHub", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    token("gitlab-token", "GitLab", _GITLAB, r"[\w-]{20,}(?:\.[\w-]{2,16}){0,2}"),
    token("bitbucket-token", "Bitbucket", "ATBB", r"[A-Za-z0-9]{32}\b"),
    token("sourcegraph-token", "Sourcegraph", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}\b"),
    token("npm-token", "npm", "npm_", r"[A-Za-z0-9]{36}\b"),
    anywhere("npmrc-token", "npm", r"(?i:_auth(?:token)?)\s{0,4}=", r"\s{0,4}[\"']?([\w+/=-]{20,})"),
    token("pypi-token", "PyPI", "pypi-AgE", r"[\w-]{50,}"),
    token("rubygems-key", "RubyGems", "rubygems_", r"[0-9a-f]{48}\b"),
    token("crates-token", "crates.io", "cio", r"[A-Za-z0-9]{32}\b"),
    token("nuget-key", "NuGet", "oy2", r"[a-z0-9]{43}\b"),
    token("clojars-token", "Clojars", "CLOJARS_", r"[0-9a-f]{60}\b"),
    token("docker-token", "Docker", "dckr_pat_ dckr_oat_", r"[\w-]{27,40}"),
    token("artifactory-token", "JFrog", "AKCp cmVmdGtu", r"[A-Za-z0-9]{52,80}\b"),
    token("circleci-token", "CircleCI", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{22}_[0-9a-f]{40}\b"),
    token("buildkite-token", "Buildkite", "bkua_ bkaj_ bkct_", r"[0-9a-zA-Z]{40}\b"),
    token("sonar-token", "SonarQube", "squ_ sqp_ sqa_", r"[0-9a-f]{40}\b"),
    token("postman-key", "Postman", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}\b"),
    token("prefect-key", "Prefect", "pnu_ pnb_", r"[A-Za-z0-9]{36}\b"),
    token("deno-token", "Deno", "ddp_ ddw_", r"[A-Za-z0-9]{36}\b"),
    token("snyk-token", "Snyk", "snyk_uat. snyk_sat.", r"[0-9a-f]{8}\.[\w.-]{40,}"),
    named("codecov-token", "Codecov", "codecov", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}"),
)
