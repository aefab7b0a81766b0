"""Decides who plays whom, in training and in leagues, and rates frozen policies by the matches between them."""
