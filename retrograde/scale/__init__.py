"""What a build would take on more workers, and of more men: a model, fitted to traces and measured."""
