"""A block of self-attention, used by the nets that read entities.

Axes: B rows, T tokens, D width.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from ludus.config.settings import PolicyConfig
from ludus.errors import ConfigError

ATTENDING = ("transformer", "entities", "tokens")  # nets of attention blocks; games name their own one `tokens`
GROWTH = 4  # width of a block's feed-forward layer, as a multiple of D


class AttentionBlock(nn.Module):
    """Self-attention over the known tokens, then a feed-forward layer for each token. Both have a residual connection
    and normalise their input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_layer = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked = nn.Linear(width, 3 * width)  # queries, keys, values
        self.answered = nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, GROWTH * width), nn.Linear(GROWTH * width, width)

    def forward(self, tokens: Tensor, attention_bias: Tensor | None) -> Tensor:
        """Return tokens [B, T, D] for tokens [B, T, D]. `attention_bias` [B, 1, 1, T] is added to the attention scores;
        it is -inf for masked tokens, and None if there are none."""
        B, T, D = tokens.shape
        projections: Tensor = self.asked(self.before_attention(tokens)).view(B, T, 3, self.heads, -1)
        query, key, value = projections.permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(query, key, value, attn_mask=attention_bias)
        tokens = tokens + self.answered(attended.transpose(1, 2).reshape(B, T, D))
        layered: Tensor = self.narrow(gelu(self.wide(self.before_layer(tokens))))
        return tokens + layered


def refuse_unfit(config: PolicyConfig, prefers: str) -> None:
    """Raise ConfigError if the net has attention heads and `policy.heads` does not divide `policy.width`. `prefers` is
    the net that `policy.net: auto` means."""
    net = prefers if config.net == "auto" else config.net
    if net in ATTENDING and config.width % config.heads:
        raise ConfigError(f"policy.heads: {config.heads} must divide policy.width, which is {config.width}")
