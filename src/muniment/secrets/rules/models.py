"""Keys of language models, and of what agents call besides."""

from muniment.secrets.rule import Rule, named, token

MODELS: tuple[Rule, ...] = (
    token("anthropic-key", "Anthropic", "sk-ant-", r"[\w-]{24,}"),
    token("openrouter-key", "OpenRouter", "sk-or-v1-", r"[0-9a-f]{64}\b"),
    token("langfuse-key", "Langfuse", "sk-lf-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    token("openai-key", "OpenAI", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{24,}"),
    token("sk-key", "OpenAI, DeepSeek and others", "sk-", r"[A-Za-z0-9]{32,64}\b"),
    token("groq-key", "Groq", "gsk_", r"[A-Za-z0-9]{40,64}\b"),
    token("xai-key", "xAI", "xai-", r"[A-Za-z0-9]{60,}\b"),
    token("perplexity-key", "Perplexity", "pplx-", r"[A-Za-z0-9]{40,64}\b"),
    token("cerebras-key", "Cerebras", "csk-", r"[a-z0-9]{40,60}\b"),
    token("nvidia-key", "NVIDIA", "nvapi-", r"[\w-]{60,80}"),
    token("together-key", "Together", "tgp_v1_", r"[\w-]{40,64}"),
    token("fireworks-key", "Fireworks", "fw_", r"[A-Za-z0-9]{22,40}\b"),
    token("hugging-face-token", "Hugging Face", "hf_ api_org_", r"[A-Za-z0-9]{32,40}\b"),
    token("replicate-token", "Replicate", "r8_", r"[A-Za-z0-9]{37,40}\b"),
    token("elevenlabs-key", "ElevenLabs", "sk_", r"[0-9a-f]{48}\b"),
    token("jina-key", "Jina", "jina_", r"[0-9a-f]{32}[\w-]{20,40}"),
    token("pinecone-key", "Pinecone", "pcsk_", r"[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,70}\b"),
    token("langsmith-key", "LangSmith", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}\b"),
    token("tavily-key", "Tavily", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{24,40}\b"),
    token("firecrawl-key", "Firecrawl", "fc-", r"[0-9a-f]{32}\b"),
    token("e2b-key", "E2B", "e2b_", r"[0-9a-f]{40}\b"),
    token("browserbase-key", "Browserbase", "bb_live_", r"[\w-]{24,40}"),
    named("wandb-key", "Weights & Biases", "wandb", r"[0-9a-f]{40}"),
    named("cohere-key", "Cohere", "cohere|co_api_key", r"[A-Za-z0-9]{40}"),
    named("mistral-key", "Mistral", "mistral", r"[A-Za-z0-9]{32}"),
    named("deepgram-key", "Deepgram", "deepgram", r"[0-9a-f]{40}"),
)
